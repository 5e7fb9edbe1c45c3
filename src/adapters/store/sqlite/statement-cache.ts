import type { StatementSync } from "node:sqlite";

/** Prepares each statement at its first use and keeps it, by its text. For texts of which there are few. */
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
