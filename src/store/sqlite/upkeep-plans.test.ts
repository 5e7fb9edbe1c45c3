import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { test } from "node:test";
import { day, start } from "../../../test/conformance/store/scene.fixture.ts";
import { databaseFile, openSqliteStore } from "./open.ts";

/** Tables that stay small, and tables of which statements read only a bounded range. */
const bounded: ReadonlyMap<string, string> = new Map([
  ["alert_mutes", "as many as users created"],
  ["stat_journal", "a row for each commit that is not rolled up yet"],
  ["audit_log", "the oldest rows, in their order, up to the limit of the step"],
]);

/** Executes `run` and returns the SQL of every statement that it used. */
async function statementsOf(run: () => Promise<unknown>): Promise<ReadonlySet<string>> {
  const used = new Set<string>();
  const { prototype } = StatementSync;
  const original = { run: prototype.run, get: prototype.get, all: prototype.all };
  for (const name of ["run", "get", "all"] as const) {
    const call: (...values: never[]) => unknown = original[name];
    prototype[name] = function (this: StatementSync, ...values: never[]) {
      used.add(this.sourceSQL);
      return call.apply(this, values);
    } as never;
  }
  try {
    await run();
  } finally {
    Object.assign(prototype, original);
  }
  return used;
}

test("upkeep that finds nothing to do walks through no table", async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-upkeep-plans-"));
  t.after(() => rm(dataDir, { recursive: true }));
  const store = await openSqliteStore({ dataDir, now: start, pid: process.pid });
  const old = { createdBefore: start - day, now: start, limit: 10 };
  const used = await statementsOf(async () => {
    const { upkeep, gateway, statistics, problems, notifications, alerts } = store;
    await upkeep.expire({
      ...old,
      ageMsByWebhook: new Map([["w", day]]),
      ageMsDefault: day,
      isCounted: true,
    });
    await upkeep.cancelWebhook({ webhookId: "w", now: start, limit: 10, isCounted: true });
    for (let steps = 0; steps < 3; steps += 1) await upkeep.forgetHistory(old);
    await upkeep.forgetPayloads(old.createdBefore, old.limit);
    await upkeep.forgetAudit(old.createdBefore, old.limit);
    await upkeep.forgetKeys(old.now, old.limit);
    await gateway.forgetRequests({ before: start - 7 * day, bodiesBefore: start - day, limit: 10 });
    await gateway.answers.purge(old.now, old.limit);
    await statistics.recover(start - day);
    await statistics.rollUp(start - day, 10);
    const before = { minute: start - day, hour: start - day, day: start - day };
    await statistics.forget({ before, limit: 10 });
    await problems.resolveQuiet({ quietSince: start - day, now: start, limit: 10 });
    await problems.forget({ noticedBefore: start - day, resolvedBefore: start - day, limit: 10 });
    await notifications.forget(start - day, 10);
    await alerts.forget(start - day, 10);
  });
  await store.close();
  assert.ok(used.size > 20, `${used.size} statements were seen`);
  const db = new DatabaseSync(databaseFile(dataDir), { readOnly: true });
  t.after(() => db.close());
  const walks = [...used].flatMap((sql) =>
    planOf(db, sql)
      .filter((detail) => /^SCAN \w/.test(detail) && !detail.startsWith("SCAN json_each"))
      .filter((detail) => !bounded.has(detail.split(" ")[1] ?? ""))
      .map((detail) => `${detail}: ${sql}`),
  );
  assert.deepEqual(walks, []);
});

function planOf(db: DatabaseSync, sql: string): readonly string[] {
  if (!/^\s*(SELECT|UPDATE|DELETE|WITH)/i.test(sql)) return [];
  const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  return rows.map(({ detail }) => String(detail));
}
