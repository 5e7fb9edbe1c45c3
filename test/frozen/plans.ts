/**
 * How a database with the current schema would execute statements. The lines of its plan, without costs, follow each
 * statement.
 */
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { SessionPlans } from "../../src/store/postgres/driver/named-statements.ts";
import { migrate } from "../../src/store/sqlite/migrations.ts";
import { createTestDatabase } from "../conformance/store/postgres-database.fixture.ts";
import { start } from "../conformance/store/scene.fixture.ts";
import { openStoreAt } from "./fresh-postgres.ts";

const planned = /^(\/\*.*?\*\/ )?(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i;
/** Excluded, because their plans depend on the contents and statistics of the server's system catalogs. */
const ofCatalogues = /\bpg_(class|inherits|namespace|index|stat\w*|locks|tables|database)\b/;

export async function plansOf(store: "sqlite" | "postgres", statements: readonly string[]): Promise<string> {
  const texts = statements
    .map((sql) => sql.replaceAll(/\s+/g, " ").trim())
    .filter((sql) => planned.test(sql) && !ofCatalogues.test(sql));
  const sorted = [...new Set(texts)].toSorted();
  const explained = store === "sqlite" ? sqlitePlans(sorted) : await postgresPlans(sorted);
  return `${explained.map(([sql, plan]) => [sql, ...plan.map((line) => `    ${line}`)].join("\n")).join("\n\n")}\n`;
}

/** Parses an output of `plansOf` and returns its statements. */
export function statementsIn(plans: string): readonly string[] {
  return plans.split("\n").filter((line) => line !== "" && !line.startsWith("    "));
}

type Plan = readonly [sql: string, lines: readonly string[]];

function sqlitePlans(statements: readonly string[]): readonly Plan[] {
  using db = new DatabaseSync(":memory:");
  migrate(db, start);
  return statements.map((sql) => {
    const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
    const depths = new Map<unknown, number>([[0, 0]]);
    const lines = rows.map(({ id, parent, detail }) => {
      const depth = depths.get(parent) ?? 0;
      depths.set(id, depth + 1);
      return `${"  ".repeat(depth)}${String(detail)}`;
    });
    return [sql, lines];
  });
}

/** Plans statements as the stores do: once, for arbitrary values, and without table scans if an index can be used. */
async function postgresPlans(statements: readonly string[]): Promise<readonly Plan[]> {
  const database = await createTestDatabase();
  await (await openStoreAt(database.url)).close();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const plans = await SessionPlans.open(client);
    await client.query(plans.changeTo("any_values") ?? "");
    const found: Plan[] = [];
    for (const sql of statements) found.push([sql, await postgresPlan(client, sql)]);
    return found;
  } finally {
    await client.end();
    await database.drop();
  }
}

async function postgresPlan(client: pg.Client, sql: string): Promise<readonly string[]> {
  const count = Math.max(0, ...[...sql.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  const values = Array.from({ length: count }, () => "NULL");
  await client.query(`PREPARE explained AS ${sql}`);
  const given = count === 0 ? "" : ` (${values.join(", ")})`;
  const { rows } = await client.query<{ "QUERY PLAN": string }>(
    `EXPLAIN (COSTS OFF) EXECUTE explained${given}`,
  );
  await client.query("DEALLOCATE explained");
  return rows.map((row) => row["QUERY PLAN"]);
}
