import type { StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { Sql } from "../../documents/sql.ts";
import type { Body, Call, Rows, StatementText, Value } from "../../documents/statement.ts";
import type { Connection } from "./connection.ts";

type Bound = string | number | Uint8Array | null;

/** Statements are prepared on first use, because most deployments use only a few of the document stores. */
export class SqliteSql extends Sql {
  readonly #connection: Connection;
  readonly #prepared = new Map<StatementText, StatementSync>();

  constructor(connection: Connection) {
    super();
    this.#connection = connection;
  }

  async read<Row extends readonly unknown[]>(call: Call<Row>): Promise<readonly Row[]> {
    return this.#connection.readOne(() => this.#rows(call)) as readonly Row[];
  }

  async searchStep<Row extends readonly unknown[]>(call: Call<Row>): Promise<readonly Row[]> {
    await setImmediate();
    return this.read(call);
  }

  async run(calls: readonly Call[]): Promise<readonly Rows[]> {
    return this.#connection.write(() => this.within(calls));
  }

  /** The body runs to its end within this turn of the event loop, so no other transaction can begin. */
  async transaction<Result>(body: () => Body<Result>): Promise<Result> {
    return this.#connection.write(() => {
      const statements = body();
      let step = statements.next();
      while (step.done !== true) step = statements.next(this.within(step.value));
      return step.value;
    });
  }

  /** Runs statements in the caller's transaction. Only inside a write. */
  within(calls: readonly Call[]): readonly Rows[] {
    return calls.map((each) => this.#rows(each));
  }

  #rows({ text, values, rows }: Call): Rows {
    const bound = values.map(toBound);
    if (rows !== undefined) bound.push(jsonOf(rows));
    return this.#prepare(text).all(...bound) as unknown as Rows;
  }

  #prepare(text: StatementText): StatementSync {
    const known = this.#prepared.get(text);
    if (known !== undefined) return known;
    const prepared = this.#connection.prepare(text.sqlite);
    this.#prepared.set(text, prepared);
    return prepared;
  }
}

function toBound(value: Value): Bound {
  if (typeof value === "boolean") return Number(value);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  return jsonOf(value);
}

/** Lone surrogates become U+FFFD, as they do in a text parameter. */
function jsonOf(list: readonly unknown[]): string {
  return JSON.stringify(list, (_, value: unknown) =>
    typeof value === "string" ? value.toWellFormed() : value,
  );
}
