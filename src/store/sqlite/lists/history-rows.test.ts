import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { migrations } from "../migrations.ts";
import { attemptsOf } from "./history-rows.ts";

test("attempts of a webhook are found by seeks into each chunk, not by reading it", (t) => {
  const db = new DatabaseSync(":memory:");
  t.after(() => db.close());
  for (const { sql } of migrations) db.exec(sql);
  const planOf = (owner: string): string =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${attemptsOf(owner)}`)
      .all()
      .map(({ detail }) => String(detail))
      .join("\n");
  const ofTenant = planOf("d.tenant = ? AND d.webhook = ?");
  assert.match(
    ofTenant,
    /SEARCH d USING COVERING INDEX deliveries_owner \(<expr>=\? AND tenant=\? AND webhook=\?\)/,
  );
  assert.doesNotMatch(ofTenant, /SCAN|TEMP B-TREE/);
  assert.match(planOf("d.webhook = ?"), /SEARCH d USING COVERING INDEX deliveries_owner \(<expr>=\?\)/);
});
