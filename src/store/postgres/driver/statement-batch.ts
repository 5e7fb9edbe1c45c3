import { Buffer } from "node:buffer";
import type pg from "pg";
import type { Value } from "./database.ts";
import { columnTypes } from "./driver.ts";

/** A named statement that is cached in the session. */
export interface KnownStatement {
  readonly name: string;
  readonly values: readonly Value[];
}

/** Each is an array of columns. */
export type Rows = readonly (readonly unknown[])[];

/**
 * The part of pg's connection that a batch writes to. pg itself sends one statement at a time and waits for its
 * response. An object with a `submit` method may write anything, and receives each message of the response.
 */
interface Wire {
  readonly stream: { cork(): void; uncork(): void };
  readonly parsedStatements: Readonly<Record<string, string | undefined>>;
  parse(message: { readonly text: string; readonly name: string }): void;
  bind(message: {
    readonly portal: string;
    readonly statement: string;
    readonly values: readonly Value[];
    readonly valueMapper: (value: Value) => Buffer | string | null;
  }): void;
  describe(message: { readonly type: "P"; readonly name: string }): void;
  execute(message: { readonly portal: string }): void;
  sync(): void;
}

/** Whether the session has cached this statement under this name, according to its client. */
export function isKept(client: pg.ClientBase, name: string, text: string): boolean {
  const { connection } = client as unknown as { readonly connection: Wire };
  return connection.parsedStatements[name] === text;
}

/**
 * Statements that are sent together and answered together. The server runs a statement only if no earlier one failed,
 * including `begin`, so no part of a transaction ever runs outside it.
 */
export class StatementBatch {
  readonly answer: Promise<readonly Rows[]>;
  readonly #statements: readonly KnownStatement[];
  readonly #begin: boolean;
  readonly #results: unknown[][][] = [];
  readonly #settle: PromiseWithResolvers<readonly Rows[]>;
  #rows: unknown[][] = [];
  #parsers: ((text: string) => unknown)[] = [];
  #unreadable: unknown = null;

  constructor(statements: readonly KnownStatement[], begin: boolean) {
    this.#statements = statements;
    this.#begin = begin;
    this.#settle = Promise.withResolvers();
    this.answer = this.#settle.promise;
  }

  submit(wire: Wire): void {
    wire.stream.cork();
    try {
      if (this.#begin) {
        wire.parse({ text: "BEGIN", name: "" });
        wire.bind({ portal: "", statement: "", values: [], valueMapper: onTheWire });
        wire.execute({ portal: "" });
      }
      for (const { name, values } of this.#statements) {
        wire.bind({ portal: "", statement: name, values, valueMapper: onTheWire });
        wire.describe({ type: "P", name: "" });
        wire.execute({ portal: "" });
      }
      wire.sync();
    } finally {
      wire.stream.uncork();
    }
  }

  handleRowDescription({ fields }: { readonly fields: readonly { readonly dataTypeID: number }[] }): void {
    this.#parsers = fields.map(({ dataTypeID }) => columnTypes.getTypeParser(dataTypeID));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    try {
      this.#rows.push(fields.map((text, at) => (text === null ? null : (this.#parsers[at]?.(text) ?? text))));
    } catch (error) {
      this.#unreadable ??= error;
    }
  }

  handleCommandComplete(): void {
    this.#results.push(this.#rows);
    this.#rows = [];
  }

  handleReadyForQuery(): void {
    if (this.#unreadable !== null) this.#settle.reject(this.#unreadable);
    else this.#settle.resolve(this.#begin ? this.#results.slice(1) : this.#results);
  }

  handleError(error: unknown): void {
    this.#settle.reject(error);
  }
}

export function send(client: pg.ClientBase, batch: StatementBatch): void {
  (client as unknown as { query(batch: StatementBatch): void }).query(batch);
}

/** Encodes a value like pg does. */
function onTheWire(value: Value): Buffer | string | null {
  if (value === null) return null;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return String(value);
}
