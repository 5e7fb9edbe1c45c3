/** Runs recorded statements on databases with the current schema, and compares the results with the recorded ones. */
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { columnTypes } from "../../src/store/postgres/driver/driver.ts";
import { migrate } from "../../src/store/sqlite/migrations.ts";
import { start } from "../conformance/store/scene.fixture.ts";
import { FreshPostgres } from "./fresh-postgres.ts";
import {
  countOf,
  decode,
  encode,
  errorResult,
  type RecordedTest,
  type Statement,
  type Unit,
} from "./recorder.ts";

type Report = (statement: Statement, difference: string) => void;

/** Reports each statement whose result differs from the recorded one. */
export async function replayTests(tests: readonly RecordedTest[], report: Report): Promise<void> {
  await using fresh = new FreshPostgres();
  for (const { store, units } of tests) {
    if (store === "sqlite") replaySqlite(units, report);
    else await replayPostgres(await fresh.open(), { units, report });
  }
}

function replaySqlite(units: readonly Unit[], report: Report): void {
  using db = new DatabaseSync(":memory:", { enableForeignKeyConstraints: false });
  migrate(db, start);
  for (const recorded of units.flatMap(({ statements }) => statements)) {
    let result: unknown;
    try {
      result = runSqlite(db, recorded);
    } catch (error) {
      result = errorResult(error);
    }
    check(recorded, { result, report });
  }
}

function runSqlite(db: DatabaseSync, { sql, values, call }: Statement): unknown {
  const statement = db.prepare(sql);
  statement.setReturnArrays(call?.arrays ?? false);
  const { method } = call ?? { method: "all" };
  const result = (statement[method] as (...given: unknown[]) => unknown).apply(statement, [...values]);
  return method === "run" ? countOf(sql, result) : result;
}

function check(
  recorded: Statement,
  { result, report }: { readonly result: unknown; readonly report: Report },
): void {
  const { sql, values, result: expected, varies } = recorded;
  const [before, now] = [encode(expected), encode(decode(encode(result)))];
  if (varies === true || before === now) return;
  const text = sql.replaceAll(/\s+/g, " ").trim();
  report(recorded, `${text}\n  values ${encode(values)}\n  - ${before}\n  + ${now}`);
}

async function replayPostgres(
  url: string,
  { units, report }: { readonly units: readonly Unit[]; readonly report: Report },
): Promise<void> {
  const client = new pg.Client({ connectionString: url, types: columnTypes });
  await client.connect();
  try {
    for (const { statements, isTransaction, ended } of units) {
      if (isTransaction) await client.query("BEGIN");
      for (const recorded of statements) {
        const query = { text: recorded.sql, values: [...recorded.values], rowMode: "array" as const };
        const result: unknown = await client.query(query).then(({ rows }) => rows as unknown, errorResult);
        check(recorded, { result, report });
      }
      if (isTransaction) await client.query(ended === "committed" ? "COMMIT" : "ROLLBACK");
    }
  } finally {
    await client.end();
  }
}
