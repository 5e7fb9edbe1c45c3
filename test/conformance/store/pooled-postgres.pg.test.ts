import { after } from "node:test";
import { openPostgresStore } from "../../../src/store/postgres/open.ts";
import { expiry } from "./expiry.suite.ts";
import { keepFresh } from "./fresh-schema.fixture.ts";
import { leases } from "./leases.suite.ts";
import { model } from "./model.suite.ts";
import { createTestDatabase } from "./postgres-database.fixture.ts";
import { publishing } from "./publishing.suite.ts";
import { requeues } from "./requeues.suite.ts";
import { start } from "./scene.fixture.ts";
import { runThemes } from "./store.suite.ts";
import { startTransactionPooler } from "./transaction-pooler.fixture.ts";

const database = await createTestDatabase();
const pooler = await startTransactionPooler(database.url);
after(async () => {
  await pooler.close();
  await database.drop();
});

/** Without a direct connection, the store uses neither notifications nor named statements. */
const openHere = () =>
  openPostgresStore({
    url: pooler.url,
    directUrl: null,
    now: start,
    masterKeyIds: { current: "test", previous: [] },
  });

await (await openHere()).close();
const schema = await keepFresh(database);

runThemes(
  {
    name: "postgres behind a pooler in transaction mode",
    cannotShare: "checked without a pooler",
    open: async () => {
      await schema.restore();
      let store = await openHere();
      return {
        store,
        reopen: async () => {
          await store.close();
          store = await openHere();
          return store;
        },
        openAnother: openHere,
        cleanup: () => store.close(),
      };
    },
  },
  // A pooler breaks statements that rely on a session. Together, the model and these topics cover all statements.
  [
    ["publish and deduplication", publishing],
    ["leases and their tokens", leases],
    ["requeues", requeues],
    ["expiry and cancellation", expiry],
    ["model", model],
  ],
);
