import { storable } from "../../column-values.ts";
import { Sql } from "../../documents/sql.ts";
import type { Body, Call, Rows, Scalar, Value } from "../../documents/statement.ts";
import type { Value as Parameter, Runner, Transactor } from "./database.ts";
import { searchBounds } from "./server.ts";

export class PostgresSql extends Sql {
  readonly #database: Transactor;

  constructor(database: Transactor) {
    super();
    this.#database = database;
  }

  read<Row extends readonly unknown[]>(call: Call<Row>): Promise<readonly Row[]> {
    return this.#database.rows<Row>(call.text.postgres, parametersOf(call));
  }

  searchStep<Row extends readonly unknown[]>(call: Call<Row>): Promise<readonly Row[]> {
    return this.#database.rows<Row>(call.text.postgres, parametersOf(call), searchBounds);
  }

  async run(calls: readonly Call[]): Promise<readonly Rows[]> {
    if (calls.length < 2) return runCalls(this.#database, calls);
    return this.#database.transaction((transaction) => runCalls(transaction, calls));
  }

  transaction<Result>(body: () => Body<Result>): Promise<Result> {
    return this.#database.transaction(async (transaction) => {
      const statements = body();
      let step = statements.next();
      while (step.done !== true) step = statements.next(await runCalls(transaction, step.value));
      return step.value;
    });
  }
}

/**
 * Sends statements together, in the transaction of `runner` if it is a transaction. Returns the rows of each statement.
 */
export function runCalls(runner: Runner, calls: readonly Call[]): Promise<readonly Rows[]> {
  return Promise.all(calls.map((each) => runner.rows(each.text.postgres, parametersOf(each))));
}

function parametersOf({ values, rows }: Call): readonly Parameter[] {
  const parameters = values.map(toParameter);
  if (rows === undefined) return parameters;
  const columns = (rows[0] ?? []).map((_, at) => literalOf(rows.map((row) => row[at] ?? null)));
  return [...parameters, ...columns];
}

function toParameter(value: Value): Parameter {
  if (typeof value === "string") return storable(value);
  return Array.isArray(value) ? literalOf(value) : (value as Exclude<Value, readonly Scalar[]>);
}

/** An array literal. The values have a single type, or are null. */
function literalOf(values: readonly Scalar[]): string {
  const kind = typeof values.find((value) => value !== null);
  if (kind === "number") return numbers(values as readonly (number | null)[]);
  if (kind === "boolean") return booleans(values as readonly boolean[]);
  return texts(values as readonly (string | null)[]);
}

/**
 * Encodes columns of a batch as PostgreSQL array literals, one parameter each, for `unnest`. Hand-written because pg's
 * conversion costs more than the statement: it matches every element against a regular expression.
 */

/** Whole numbers, null as NULL. Fractions of a millisecond are rounded, because the column is a bigint. */
export function numbers(values: readonly (number | null)[]): string {
  return `{${values.map((value) => (value === null ? "NULL" : whole(value))).join(",")}}`;
}

export function decimals(values: readonly number[]): string {
  return `{${values.join(",")}}`;
}

function whole(value: number): number {
  if (Number.isSafeInteger(value)) return value;
  return Math.round(Math.min(Math.max(value, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER));
}

/** UUIDs and other strings without characters that are special in array literals. */
export function plainWords(values: readonly (string | null)[]): string {
  return `{${values.map((value) => value ?? "NULL").join(",")}}`;
}

export function booleans(values: readonly boolean[]): string {
  return `{${values.map((value) => (value ? "t" : "f")).join(",")}}`;
}

/** Arbitrary text; null becomes NULL. */
export function texts(values: readonly (string | null)[]): string {
  return `{${values.map((value) => (value === null ? "NULL" : `"${escaped(value)}"`)).join(",")}}`;
}

const needsEscape = /["\\]/;

function escaped(text: string): string {
  const clean = storable(text);
  return needsEscape.test(clean) ? clean.replaceAll(/["\\]/g, "\\$&") : clean;
}
