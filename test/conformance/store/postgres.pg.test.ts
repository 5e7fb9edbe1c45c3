import { after } from "node:test";
import { openPostgresStore } from "../../../src/adapters/store/postgres/open.ts";
import type { Store } from "../../../src/ports/store.ts";
import { createTestDatabase } from "./postgres-database.fixture.ts";
import { start } from "./scene.ts";
import { storeConformance } from "./store-conformance.ts";

const database = await createTestDatabase();
after(() => database.drop());

const openHere = (): Promise<Store> =>
  openPostgresStore({ url: database.url, now: start, masterKeyIds: { current: "test", previous: [] } });

storeConformance({
  name: "postgres",
  cannotShare: null,
  open: async () => {
    // A schema of its own is as good as a database of its own, and quicker.
    await database.query("DROP SCHEMA IF EXISTS posthorn CASCADE");
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
