import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import {
  createTestDatabase,
  type TestDatabase,
} from "../../../test/conformance/store/postgres-database.fixture.ts";
import { commit, lane, publishCommand, start } from "../../../test/conformance/store/scene.fixture.ts";
import type { Store } from "../../ports/store.ts";
import { claimSql } from "./events/claim.ts";
import { SessionPlans } from "./driver/named-statements.ts";
import { openPostgresStore } from "./open.ts";

async function openHere(t: TestContext): Promise<{ readonly database: TestDatabase; readonly store: Store }> {
  const database = await createTestDatabase();
  const masterKeyIds = { current: "key", previous: [] };
  const store = await openPostgresStore({ url: database.url, now: start, masterKeyIds });
  t.after(async () => {
    await store.close();
    await database.drop();
  });
  return { database, store };
}

interface Plan {
  readonly "Node Type": string;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
}

/** Claims ten deliveries from the only lane. Returns the number of pages that were read. */
type PagesOfClaim = (ordered: boolean) => Promise<number>;

const parameters = (ordered: boolean): readonly string[] => {
  const later = start + 1_000;
  const lists = [`'{1}'`, `'{${ordered}}'`, `'{10}'`, `'{1000000}'`, `'{${later}}'`, `'{${later + 60_000}}'`];
  return [...lists, `'{t}'`, "77"];
};

function pagesIn(rows: readonly unknown[]): number {
  const [{ "QUERY PLAN": plans } = { "QUERY PLAN": [] }] = rows as readonly {
    readonly "QUERY PLAN": readonly { readonly Plan: Plan }[];
  }[];
  const plan = plans[0]?.Plan;
  return (plan?.["Shared Hit Blocks"] ?? 0) + (plan?.["Shared Read Blocks"] ?? 0);
}

const explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)";

/** Plans every claim for the current contents. */
function plannedEachTime(database: TestDatabase): PagesOfClaim {
  return async (ordered) => {
    const values = parameters(ordered);
    const sql = claimSql.replaceAll(/\$(\d)/g, (_, number) => values[Number(number) - 1] ?? "");
    return pagesIn(await database.query(`${explain} ${sql}`));
  };
}

/** Plans the claim once for all later claims, with a generic plan for the current contents of the tables. */
async function plannedOnce(t: TestContext, database: TestDatabase): Promise<PagesOfClaim> {
  const client = new pg.Client({ connectionString: database.url });
  // The database is dropped before the client disconnects.
  client.on("error", () => undefined);
  await client.connect();
  t.after(() => client.end());
  await SessionPlans.open(client);
  await client.query("SET plan_cache_mode = force_generic_plan");
  await client.query(`PREPARE claim AS ${claimSql}`);
  return async (ordered) =>
    pagesIn((await client.query(`${explain} EXECUTE claim (${parameters(ordered).join()})`)).rows);
}

async function fill(store: Store, count: number, ordering: "none" | "strict"): Promise<void> {
  const kinds = [
    { priority: "normal", dueAt: start },
    { priority: "high", dueAt: start + 1_000_000 },
    { priority: "low", dueAt: start },
    { priority: "normal", dueAt: start + 1_000_000 },
    { priority: "low", dueAt: start + 1_000_000 },
  ] as const;
  for (let done = 0; done < count; done += 500) {
    const publishes = Array.from({ length: Math.min(500, count - done) }, (_, index) =>
      publishCommand({ deliveries: [{ ...kinds[index % kinds.length], lane: lane("w", ordering) }] }),
    );
    await commit(store, { publishes });
  }
}

for (const ordering of ["none", "strict"] as const) {
  const ordered = ordering !== "none";

  test(`a claim touches no more pages when more waits (ordering ${ordering})`, async (t) => {
    const { database, store } = await openHere(t);
    const pagesOfClaim = plannedEachTime(database);
    // The cost must not depend on the number of waiting deliveries, whether or not autovacuum has run.
    await database.query("ALTER TABLE posthorn.queue SET (autovacuum_enabled = off)");
    await fill(store, 200, ordering);
    const few = await pagesOfClaim(ordered);
    await fill(store, 30_000, ordering);
    const many = await pagesOfClaim(ordered);
    assert.ok(few > 0);
    assert.ok(many <= few * 1.5 + 20, `${few} pages with 200 waiting, ${many} with 30,200`);
    await database.query("VACUUM (ANALYZE)");
    const analysed = await pagesOfClaim(ordered);
    assert.ok(analysed <= few * 1.5 + 20, `${few} pages with 200 waiting, ${analysed} with 30,200, analysed`);
  });

  test(`a claim planned while almost nothing waited touches no more pages either (ordering ${ordering})`, async (t) => {
    const { database, store } = await openHere(t);
    await database.query("ALTER TABLE posthorn.queue SET (autovacuum_enabled = off)");
    await fill(store, 2, ordering);
    await database.query("VACUUM (ANALYZE)");
    const pagesOfClaim = await plannedOnce(t, database);
    // The plan may compare each of the ten rows with the others, but it must not scan a whole index.
    await pagesOfClaim(ordered);
    await fill(store, 30_000, ordering);
    const many = await pagesOfClaim(ordered);
    assert.ok(many <= 600, `${many} pages with 30,002 waiting`);
  });
}
