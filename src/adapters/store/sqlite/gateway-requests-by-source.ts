import type { StatementSync } from "node:sqlite";
import { StoreUnavailableError } from "../../../ports/store.ts";
import type { ReceivedRequest } from "../../../ports/store/gateway.ts";
import type { Connection } from "./connection.ts";
import { StatementCache } from "./statement-cache.ts";

const bySourceStatements = {
  note: "INSERT INTO gateway_requests_unfiled VALUES (?, ?)",
  waits: "SELECT 1 FROM gateway_requests_unfiled LIMIT 1",
  file: `INSERT OR IGNORE INTO gateway_requests_by_source
    SELECT source, id FROM gateway_requests_unfiled ORDER BY source, id`,
  emptied: "DELETE FROM gateway_requests_unfiled",
  forget: "DELETE FROM gateway_requests_by_source WHERE source = ? AND id = ?",
} as const;

/** Filing takes a few milliseconds, and writes several lines of a source per page. */
const unfiledMax = 1_024;

/**
 * The index of the gateway's log by source. Filing each line separately would write an index page per line. So lines
 * wait in a queue until there are many, or until a search.
 */
export class RequestsBySource {
  readonly #connection: Connection;
  readonly #statements: StatementCache;
  /** Lines since this process last filed; lines left by an earlier process are filed with them. */
  #noted = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#statements = new StatementCache(connection);
  }

  /** Only inside a write. */
  note({ sourceId, id }: Pick<ReceivedRequest, "sourceId" | "id">): void {
    this.#sql("note").run(sourceId, id);
    this.#noted += 1;
    if (this.#noted >= unfiledMax) this.file();
  }

  /** Only inside a write. */
  file(): void {
    this.#noted = 0;
    this.#sql("file").run();
    this.#sql("emptied").run();
  }

  /** Only inside a write, after `file`. */
  forget({ sourceId, id }: Pick<ReceivedRequest, "sourceId" | "id">): void {
    this.#sql("forget").run(sourceId, id);
  }

  /** Called before a search by source. While nothing can be written, searches find the filed lines. */
  fileForSearch(): void {
    if (this.#connection.readOne(() => this.#sql("waits").get()) === undefined) return;
    try {
      this.#connection.write(() => this.file());
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }

  #sql(name: keyof typeof bySourceStatements): StatementSync {
    return this.#statements.get(bySourceStatements[name]);
  }
}
