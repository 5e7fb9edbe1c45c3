import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { createTestDatabase } from "../../../test/conformance/store/postgres-database.fixture.ts";
import { start } from "../../../test/conformance/store/scene.fixture.ts";
import { openPostgresStore } from "./open.ts";
import { namedSql } from "./documents/statistics.ts";

const tenants = 50;
const webhooks = 2_000;
const hours = 24;

interface Explained {
  readonly "QUERY PLAN": readonly {
    readonly Plan: { readonly "Shared Hit Blocks": number; readonly "Shared Read Blocks": number };
  }[];
}

test("statistics of six webhooks read six webhooks' rows, however many others have some", async (t) => {
  const database = await createTestDatabase();
  const masterKeyIds = { current: "key", previous: [] };
  const store = await openPostgresStore({ url: database.url, now: start, masterKeyIds });
  const client = new pg.Client({ connectionString: database.url });
  // The database is dropped before the client disconnects.
  client.on("error", () => undefined);
  await client.connect();
  t.after(async () => {
    await store.close();
    await database.drop();
  });
  const fill = (step: number, from: number, to: number) =>
    client.query(`INSERT INTO posthorn.delivery_stats (step, bucket, tenant, subject, writer, part, counted_to, counts)
      SELECT ${step}, h * 3600000::bigint, w % ${tenants}, w, 1, 0, 1, decode('0102030405060708090a0b0c', 'hex')
      FROM generate_series(${from}, ${to}) h, generate_series(1, ${webhooks}) w`);
  // The server's statistics are always somewhat stale, so they do not include any row of this step.
  await fill(0, 1, 2);
  await client.query("ANALYZE posthorn.delivery_stats");
  await fill(1, 1, hours);
  const sql = namedSql("posthorn.delivery_stats");
  const buckets = Array.from({ length: hours }, (_, hour) => (hour + 1) * 3_600_000);
  const asked = [7, 77, 177, 777, 1_177, 1_777];
  const ofTenants = asked.map((webhook) => webhook % tenants);
  const values = [`{${buckets.join()}}`, 1, 50_000, `{${ofTenants.join()}}`, `{${asked.join()}}`];
  const found = await client.query(sql, values);
  assert.equal(found.rows.length, 6 * hours);
  for (const mode of ["force_custom_plan", "force_generic_plan"]) {
    await client.query(`SET plan_cache_mode = ${mode}`);
    const { rows } = await client.query<Explained>(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`, values);
    const plan = rows[0]?.["QUERY PLAN"][0]?.Plan;
    const pages = (plan?.["Shared Hit Blocks"] ?? 0) + (plan?.["Shared Read Blocks"] ?? 0);
    // A seek reads three or four pages. All rows together fill about 600 pages, and a join would read these repeatedly.
    assert.ok(pages > 0 && pages <= 6 * hours * 5, `${mode}: ${pages} pages`);
  }
  await client.end();
});
