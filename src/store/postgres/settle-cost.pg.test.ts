import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { createTestDatabase } from "../../../test/conformance/store/postgres-database.fixture.ts";
import {
  claim,
  commit,
  lane,
  newAttempt,
  publishCommand,
  settlement,
  start,
} from "../../../test/conformance/store/scene.fixture.ts";
import type { Settlement } from "../../ports/store/deliveries.ts";
import type { Runner } from "./driver/database.ts";
import { openPostgresStore } from "./open.ts";
import { writeSettlements } from "./events/settle.ts";

interface Plan {
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
}

/** Number of rows that the steps of a plan examined, including rows that were discarded. */
function rowsLookedAt(plan: Plan): number {
  const each =
    plan["Actual Rows"] + (plan["Rows Removed by Join Filter"] ?? 0) + (plan["Rows Removed by Filter"] ?? 0);
  return (plan.Plans ?? []).reduce((sum, part) => sum + rowsLookedAt(part), each * plan["Actual Loops"]);
}

test("a settlement costs no more in a large batch: no step joins each of its rows with all others", async (t) => {
  const database = await createTestDatabase();
  const masterKeyIds = { current: "key", previous: [] };
  const store = await openPostgresStore({ url: database.url, now: start, masterKeyIds });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  t.after(async () => {
    await client.end();
    await store.close();
    await database.drop();
  });

  const settlements: Settlement[] = [];
  const few = 100;
  const many = 800;
  await commit(store, {
    publishes: Array.from({ length: few + many }, () =>
      publishCommand({ deliveries: [{ lane: lane("w") }] }),
    ),
  });
  await database.query("VACUUM (ANALYZE)");
  const { deliveries } = await claim(store, lane("w"), { limit: few + many });
  for (const { lease } of deliveries) settlements.push(settlement(lease, { attempt: newAttempt() }));
  assert.equal(settlements.length, few + many);

  const explained = async (batch: readonly Settlement[]): Promise<number> => {
    let looked = 0;
    const runner: Runner = {
      rows: async (sql, values) => {
        const { rows } = await client.query<{ "QUERY PLAN": readonly { readonly Plan: Plan }[] }>(
          `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
          [...(values ?? [])],
        );
        for (const { Plan } of rows[0]?.["QUERY PLAN"] ?? []) looked += rowsLookedAt(Plan);
        return [];
      },
    };
    await writeSettlements(runner, {
      settlements: batch,
      processNumber: 1,
      isInDoubt: () => false,
      counting: null,
    });
    return looked / batch.length;
  };
  const each = await explained(settlements.slice(0, few));
  const eachOfMany = await explained(settlements.slice(few));
  assert.ok(each >= 5, "the plan was read");
  assert.ok(eachOfMany <= each * 2, `${each} rows for each of ${few}, ${eachOfMany} for each of ${many}`);
});
