/** The types that a column can contain. */
export type Scalar = string | number | boolean | null;

/** One parameter. A list is used with `= ANY ($1::text[])`. */
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
  /** Rows for `unnest`. Their parameters come after `values`. */
  readonly rows?: readonly (readonly Scalar[])[];
  /** Exists only for the type of the returned rows; never set. */
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
 * How PostgreSQL statements are translated for SQLite. The rules replace only spelling. If a statement would mean
 * different things in the two databases, it has to be rewritten until the meaning is the same
 * (docs/decisions/documents-once.md).
 */
const rules: readonly (readonly [spelling: RegExp, sqlite: string | ((...found: string[]) => string)])[] = [
  // A SQLite file has only one schema, so the schema name is removed.
  [/\bposthorn\./g, ""],
  // A list is passed as one JSON text.
  [/= ANY \((\$\d+)::\w+\[\]\)/g, "IN (SELECT value FROM json_each($1))"],
  // Rows are also passed as one JSON text, which takes the parameter of their first column.
  [/\bunnest\((\$\d+)::[^)]*\)\s+AS (\w+) \(([^)]*)\)/g, unnested],
  // SQLite needs no casts, because parameters already have their types.
  [/::\w+(?:\[\])?/g, ""],
  // SQLite needs no row locks, because a write transaction locks the whole file.
  [/\sFOR (?:NO KEY )?UPDATE(?: SKIP LOCKED)?/g, ""],
  [/\bstrpos\(/g, "instr("],
  // SQLite compares bytes by default, so the collation is removed.
  [/ COLLATE "C"/g, ""],
  // SQLite uses a partial index only if the query has the same literal as the condition of the index.
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

/** Returns a list with one call. Without rows, the list is empty. */
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
