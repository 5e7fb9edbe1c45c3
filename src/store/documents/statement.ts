/** The types that a column can contain. */
export type Scalar = string | number | boolean | null;

/** One parameter; a list is for `= ANY ($1::text[])`. */
export type Value = Scalar | Uint8Array | readonly Scalar[];

/** The rows of one statement; each is an array of columns. */
export type Rows = readonly (readonly unknown[])[];

/** The text of a statement for each of the two stores. */
export interface StatementText {
  readonly postgres: string;
  readonly sqlite: string;
}

/** A statement with its parameters. */
export interface Call<Row extends readonly unknown[] = readonly unknown[]> {
  readonly text: StatementText;
  readonly values: readonly Value[];
  /** Rows for `unnest`, whose parameters come after `values`. */
  readonly rows?: readonly (readonly Scalar[])[];
  /** Carries the type of the returned rows; never set. */
  readonly returns?: Row;
}

export type Statement<Row extends readonly unknown[] = readonly unknown[]> = (
  ...values: readonly Value[]
) => Call<Row>;

/**
 * A transaction: each `yield` sends statements together and returns the rows of each. It may run more than once, so it
 * must have no other effects.
 */
export type Body<Result> = Generator<readonly Call[], Result, readonly Rows[]>;

/**
 * How SQL for PostgreSQL is translated to SQL for SQLite. The rules replace spelling only. A statement whose meaning
 * differs between the databases has to be written so that it means the same in both (docs/decisions/documents-once.md).
 */
const rules: readonly (readonly [spelling: RegExp, sqlite: string | ((...found: string[]) => string)])[] = [
  // A database file is a single schema.
  [/\bposthorn\./g, ""],
  // A list is passed as one JSON text.
  [/= ANY \((\$\d+)::\w+\[\]\)/g, "IN (SELECT value FROM json_each($1))"],
  // Rows are also passed as one JSON text, in the position of their first column.
  [/\bunnest\((\$\d+)::[^)]*\)\s+AS (\w+) \(([^)]*)\)/g, unnested],
  // Values already have their types.
  [/::\w+(?:\[\])?/g, ""],
  // A transaction that writes locks the whole file.
  [/\sFOR (?:NO KEY )?UPDATE(?: SKIP LOCKED)?/g, ""],
  [/\bstrpos\(/g, "instr("],
  // SQLite compares bytes by default.
  [/ COLLATE "C"/g, ""],
  // SQLite uses a partial index only for the same literal as in its condition.
  [/ = true\b/g, " = 1"],
  [/ = false\b/g, " = 0"],
  [/\$(\d+)/g, "?$1"],
];

function unnested(_: string, first = "", name = "", columns = ""): string {
  const values = columns.split(", ").map((column, at) => `value ->> ${at} AS ${column}`);
  return `(SELECT ${values.join(", ")} FROM json_each(${first})) AS ${name}`;
}

const declared: StatementText[] = [];

/** Declares a statement. Called when its module is loaded. */
export function sql<Row extends readonly unknown[] = readonly unknown[]>(postgres: string): Statement<Row> {
  return declare<Row>({ postgres, sqlite: toSqlite(postgres) });
}

/** Translates SQL for PostgreSQL to the spelling of SQLite. */
export function toSqlite(postgres: string): string {
  let text = postgres;
  for (const [spelling, sqlite] of rules) text = text.replaceAll(spelling, sqlite as string);
  return text;
}

/** Declares a statement that the rules cannot translate. */
export function declare<Row extends readonly unknown[] = readonly unknown[]>(
  text: StatementText,
): Statement<Row> {
  declared.push(text);
  return (...values) => ({ text, values });
}

/** All statements of the loaded modules. */
export function declaredStatements(): readonly StatementText[] {
  return declared;
}

/** Returns a call if there is at least one row; without rows, there is nothing to do. */
export function batch<Row extends readonly unknown[]>(
  statement: Statement<Row>,
  rows: readonly (readonly Scalar[])[],
  ...values: readonly Value[]
): readonly Call<Row>[] {
  return rows.length === 0 ? [] : [{ ...statement(...values), rows }];
}

/** Returns the rows of a single call in a transaction. */
export function* rowsOf<Row extends readonly unknown[]>(call: Call<Row>): Body<readonly Row[]> {
  const [rows = []] = yield [call];
  return rows as readonly Row[];
}
