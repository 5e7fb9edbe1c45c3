import type { StatementSync } from "node:sqlite";
import type {
  HeldCountQuery,
  HeldMessage,
  HeldQuery,
  ReceivedRequest,
  SettledMessage,
} from "../../../ports/store/gateway.ts";
import { heldOf, type HeldRow, requestDocument, settledRequest, toHeld, toRequest } from "../gateway-rows.ts";
import type { Connection } from "./connection.ts";
import type { RequestsBySource } from "./gateway-requests-by-source.ts";
import { StatementCache } from "./statement-cache.ts";

const requestStatements = {
  add: "INSERT OR IGNORE INTO gateway_requests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  put: `INSERT INTO gateway_requests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
    status = excluded.status, outcome = excluded.outcome, cause = excluded.cause, document = excluded.document`,
  update: "UPDATE gateway_requests SET status = ?, outcome = ?, cause = ?, document = ? WHERE id = ?",
  hold: "INSERT OR IGNORE INTO gateway_held VALUES (?, ?, ?)",
  forget: "DELETE FROM gateway_held WHERE request = ?",
  drop: "DELETE FROM gateway_held WHERE connection = ? AND request = ?",
  held: `SELECT connection, request, event FROM gateway_held WHERE connection = ?1 AND request > ?2
    ORDER BY request LIMIT ?3`,
  connections: "SELECT DISTINCT connection FROM gateway_held",
  count: "SELECT count(*) FROM (SELECT 1 FROM gateway_held WHERE connection = ? LIMIT ?)",
  document: "SELECT document FROM gateway_requests WHERE id = ?",
  note: "UPDATE gateway_requests SET document = ? WHERE id = ?",
} as const;

/** The rows of the gateway's log and of held messages. Writes only inside a write. */
export class GatewayRequestRows {
  readonly #statements: StatementCache;
  readonly #bySource: RequestsBySource;

  constructor(connection: Connection, bySource: RequestsBySource) {
    this.#bySource = bySource;
    this.#statements = new StatementCache(connection);
  }

  /** Keeps an existing row. */
  add(request: ReceivedRequest): void {
    this.#sql("add").run(...columnsOf(request));
    this.#bySource.note(request);
    this.#hold(request);
  }

  /** Writes it with the event that it became. */
  put(request: ReceivedRequest): void {
    this.#sql("put").run(...columnsOf(request));
    this.#bySource.note(request);
    this.#hold(request);
  }

  update(request: ReceivedRequest): void {
    const { id, status, outcome, cause } = request;
    this.#sql("update").run(status, outcome, cause, requestDocument(request), id);
    this.#sql("forget").run(id);
    this.#hold(request);
  }

  settle(messages: readonly SettledMessage[]): void {
    for (const message of messages) {
      const { connectionId, requestId } = message;
      this.#sql("drop").run(connectionId, requestId);
      const row = this.#sql("document").get(requestId) as unknown as [string] | undefined;
      if (row === undefined) continue;
      const request = settledRequest(toRequest([row[0], null, null]), [message]);
      this.#sql("note").run(requestDocument(request), requestId);
    }
  }

  heldCounts({ connectionIds, countMax }: HeldCountQuery): ReadonlyMap<string, number> {
    return new Map(
      connectionIds.map((id) => {
        const [count] = this.#sql("count").get(id, countMax) as unknown as [number | bigint];
        return [id, Number(count)];
      }),
    );
  }

  held({ connectionId, after, limit }: HeldQuery): readonly HeldMessage[] {
    const rows = this.#sql("held").all(connectionId, after ?? "", limit);
    return (rows as unknown as HeldRow[]).map(toHeld);
  }

  connectionsWithHeld(): readonly string[] {
    return (this.#sql("connections").all() as unknown as [string][]).map(([id]) => id);
  }

  #hold(request: ReceivedRequest): void {
    for (const { connectionId, requestId, eventId } of heldOf(request))
      this.#sql("hold").run(connectionId, requestId, eventId);
  }

  #sql(name: keyof typeof requestStatements): StatementSync {
    return this.#statements.get(requestStatements[name]);
  }
}

function columnsOf(request: ReceivedRequest) {
  const { id, tenantId, sourceId, receivedAt, status, outcome, cause, bookmark, body } = request;
  const head = [id, tenantId, sourceId, receivedAt, status, outcome, cause, bookmark] as const;
  return [...head, requestDocument(request), body] as const;
}
