import type { StatementSync } from "node:sqlite";

/** Prepares each statement on first use and keeps it, by its text. Use it only for a small number of texts. */
export class StatementCache {
  readonly #connection: { prepare(sql: string): StatementSync };
  readonly #statements = new Map<string, StatementSync>();

  constructor(connection: { prepare(sql: string): StatementSync }) {
    this.#connection = connection;
  }

  get(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
