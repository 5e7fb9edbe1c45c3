/** Records every statement that the stores run, with its values and rows, by patching the driver classes. */
import { DatabaseSync, StatementSync } from "node:sqlite";
import { Database, type Transactor } from "../../src/store/postgres/driver/database.ts";

export interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
  /** Rows, the counts returned by SQLite's `run`, or an error code. */
  readonly result: unknown;
  /** True if the result depends on time or chance. It is then not compared. */
  varies?: true;
  readonly call?: { readonly method: SqliteMethod; readonly arrays: boolean };
}

/**
 * The statements of one transaction, or one statement outside a transaction. In SQLite, BEGIN and COMMIT are recorded
 * as statements.
 */
export interface Unit {
  readonly statements: Statement[];
  readonly isTransaction: boolean;
  ended: "committed" | "rolled back";
}

/** The statements that one test of the suite ran on its store, which was empty at the start. */
export interface RecordedTest {
  readonly store: "sqlite" | "postgres";
  readonly units: Unit[];
}

export type OnUnit = (unit: Unit) => void;
export type SqliteMethod = "run" | "get" | "all";

export function recordPostgres(onUnit: OnUnit): void {
  const { prototype } = Database;
  const original = { rows: prototype.rows, transaction: prototype.transaction, within: prototype.within };
  const recorded = (inner: Transactor): Transactor => ({
    rows: async (sql, values, bounds) => {
      const unit: Unit = { statements: [], isTransaction: false, ended: "committed" };
      try {
        return await noted(unit, { sql, values: values ?? [], run: () => inner.rows(sql, values, bounds) });
      } finally {
        onUnit(unit);
      }
    },
    transaction: async (work) => {
      let unit: Unit | null = null;
      const result = await inner
        .transaction((transaction) => {
          unit = { statements: [], isTransaction: true, ended: "rolled back" };
          const own = unit;
          return work({
            provenBy: transaction.provenBy.bind(transaction),
            rows: (sql, values) =>
              noted(own, {
                sql,
                values: values ?? [],
                run: () => transaction.rows(sql, values),
              }),
          });
        })
        .finally(() => unit !== null && onUnit(unit));
      ((unit as Unit | null) ?? failed()).ended = "committed";
      return result;
    },
  });
  const of = (database: Database): Transactor =>
    recorded({ rows: original.rows.bind(database), transaction: original.transaction.bind(database) });
  Object.assign(prototype, {
    rows(this: Database, ...given: Parameters<Transactor["rows"]>) {
      return of(this).rows(...given);
    },
    transaction(this: Database, work: Parameters<Transactor["transaction"]>[0]) {
      return of(this).transaction(work);
    },
    within(this: Database, incarnation: Parameters<Database["within"]>[0]) {
      return recorded(original.within.call(this, incarnation));
    },
  });
}

function failed(): never {
  throw new Error("a transaction that succeeded did no work");
}

async function noted<Rows>(
  unit: Unit,
  {
    sql,
    values,
    run,
  }: { readonly sql: string; readonly values: readonly unknown[]; readonly run: () => Promise<Rows> },
): Promise<Rows> {
  // The position is reserved immediately, so that statements that are sent together keep their order.
  const at = unit.statements.push({ sql, values, result: null }) - 1;
  const set = (result: unknown) => (unit.statements[at] = copy({ sql, values, result }));
  try {
    const rows = await run();
    set(rows);
    return rows;
  } catch (error) {
    set(errorResult(error));
    throw error;
  }
}

/**
 * Records statements of the databases for whose file `isRecorded` returns true. PRAGMA statements are omitted, because
 * their results depend on the file's size and settings.
 */
export function recordSqlite(onUnit: OnUnit, isRecorded: (location: string) => boolean): void {
  const databases = new WeakMap<StatementSync, DatabaseSync>();
  const arrays = new WeakSet<StatementSync>();
  const { prepare, exec } = DatabaseSync.prototype;
  const { setReturnArrays } = StatementSync.prototype;
  const add = (statement: Statement) =>
    onUnit({ statements: [copy(statement)], isTransaction: false, ended: "committed" });
  DatabaseSync.prototype.prepare = function (...given) {
    const statement = prepare.apply(this, given);
    databases.set(statement, this);
    return statement;
  };
  DatabaseSync.prototype.exec = function (sql) {
    exec.call(this, sql);
    if (sql === "ROLLBACK" && isRecorded(this.location() ?? ""))
      add({ sql, values: [], result: null, call: { method: "run", arrays: false } });
  };
  StatementSync.prototype.setReturnArrays = function (enabled) {
    setReturnArrays.call(this, enabled);
    if (enabled) arrays.add(this);
  };
  for (const method of ["run", "get", "all"] as const) {
    const call = StatementSync.prototype[method] as (...values: unknown[]) => unknown;
    StatementSync.prototype[method] = function (this: StatementSync, ...values: unknown[]) {
      const sql = this.sourceSQL;
      const database = databases.get(this);
      const isSkipped =
        /^\s*PRAGMA|\b(migrations|sqlite_schema)\b/.test(sql) || !isRecorded(database?.location() ?? "");
      if (isSkipped) return call.apply(this, values);
      const note = (result: unknown) =>
        add({ sql, values, result, call: { method, arrays: arrays.has(this) } });
      try {
        const result = call.apply(this, values);
        note(method === "run" ? countOf(sql, result) : result);
        return result;
      } catch (error) {
        note(errorResult(error));
        throw error;
      }
    } as never;
  }
}

/**
 * SQLite reports the counts of the last change until the next change, so the counts are meaningful only for statements
 * that change rows.
 */
export function countOf(sql: string, result: unknown): unknown {
  const isChange = /^\s*(INSERT|UPDATE|DELETE|REPLACE|WITH)\b/i.test(sql);
  return isChange ? { changes: (result as { readonly changes: number | bigint }).changes } : null;
}

export function errorResult(error: unknown): unknown {
  const { code, errcode, cause } = error as { code?: unknown; errcode?: unknown; cause?: unknown };
  if (cause instanceof Error) return errorResult(cause);
  return { error: errcode ?? code ?? String(error) };
}

/** JSON extended with bytes, bigints and undefined values. */
export function encode(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => {
    if (one instanceof Uint8Array) return { $bytes: Buffer.from(one).toString("base64") };
    // `JSON.stringify` calls `Buffer.toJSON` before this function.
    if (isBufferJson(one)) return { $bytes: Buffer.from(one.data).toString("base64") };
    if (typeof one === "bigint") return { $bigint: String(one) };
    return one === undefined ? { $undefined: true } : one;
  });
}

export function decode(text: string): unknown {
  return JSON.parse(text, (_, one: unknown) => {
    if (typeof one !== "object" || one === null) return one;
    if ("$bytes" in one) return new Uint8Array(Buffer.from(String(one.$bytes), "base64"));
    if ("$bigint" in one) return BigInt(String(one.$bigint));
    return "$undefined" in one ? undefined : one;
  });
}

/** A copy is needed because the stores modify rows in place. */
function copy(statement: Statement): Statement {
  return decode(encode(statement)) as Statement;
}

function isBufferJson(value: unknown): value is { readonly data: number[] } {
  return typeof value === "object" && value !== null && "type" in value && value.type === "Buffer";
}
