import { after } from "node:test";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import type { Store } from "../../../src/ports/store.ts";
import { createTestDatabase } from "./postgres-database.fixture.ts";
import { keepFresh } from "./fresh-schema.fixture.ts";
import { start } from "./scene.fixture.ts";
import { storeConformance } from "./store.suite.ts";

const database = await createTestDatabase();
after(() => database.drop());

const openHere = (): Promise<Store> =>
  openPostgresStore({ url: database.url, now: start, masterKeyIds: { current: "test", previous: [] } });

await (await openHere()).close();
const schema = await keepFresh(database);

storeConformance({
  name: "postgres",
  cannotShare: null,
  open: async () => {
    await schema.restore();
    let store = await openHere();
    const others: Store[] = [];
    return {
      store,
      reopen: async () => {
        await store.close();
        store = await openHere();
        return store;
      },
      openAnother: async () => {
        const other = await openHere();
        others.push(other);
        return other;
      },
      cleanup: async () => {
        for (const other of others) await other.close();
        await store.close();
      },
    };
  },
});
