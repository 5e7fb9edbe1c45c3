import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  createTestDatabase,
  type TestDatabase,
} from "../../../../test/conformance/store/postgres-database.fixture.ts";
import { commit, lane, publishCommand, start } from "../../../../test/conformance/store/scene.ts";
import type { Store } from "../../../ports/store.ts";
import { claimSql } from "./claim-sql.ts";
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

/** Pages that a claim of ten deliveries from the only lane touches. It takes them. */
async function pagesOfClaim(database: TestDatabase, ordered: boolean): Promise<number> {
  const later = start + 1_000;
  const values = [
    `'{1}'`,
    `'{${ordered}}'`,
    `'{10}'`,
    `'{1000000}'`,
    `'{${later}}'`,
    `'{${later + 60_000}}'`,
    `'{t}'`,
    "77",
  ];
  const sql = claimSql.replaceAll(/\$(\d)/g, (_, number) => values[Number(number) - 1] ?? "");
  const explained = await database.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`);
  const [{ "QUERY PLAN": plans } = { "QUERY PLAN": [] }] = explained as readonly {
    readonly "QUERY PLAN": readonly { readonly Plan: Plan }[];
  }[];
  const plan = plans[0]?.Plan;
  return (plan?.["Shared Hit Blocks"] ?? 0) + (plan?.["Shared Read Blocks"] ?? 0);
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
  test(`a claim touches no more pages when more waits (ordering ${ordering})`, async (t) => {
    const { database, store } = await openHere(t);
    // Neither before autovacuum came by nor after may it depend on how much waits.
    await database.query("ALTER TABLE posthorn.queue SET (autovacuum_enabled = off)");
    await fill(store, 200, ordering);
    const few = await pagesOfClaim(database, ordering !== "none");
    await fill(store, 30_000, ordering);
    const many = await pagesOfClaim(database, ordering !== "none");
    assert.ok(few > 0);
    assert.ok(many <= few * 1.5 + 20, `${few} pages with 200 waiting, ${many} with 30,200`);
    await database.query("VACUUM (ANALYZE)");
    const analysed = await pagesOfClaim(database, ordering !== "none");
    assert.ok(analysed <= few * 1.5 + 20, `${few} pages with 200 waiting, ${analysed} with 30,200, analysed`);
  });
}
