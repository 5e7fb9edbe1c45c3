import type { StatementSync } from "node:sqlite";
import type { WebhookHistoryEntry } from "../../../core/webhook-history.ts";
import type { Page } from "../../../ports/store.ts";
import type { StoredHistoryEntry, WebhookHistoryQuery } from "../../../ports/store/webhooks.ts";
import { historyDocument, historyEntriesMax, historyPage, type HistoryRow } from "../webhook-changes.ts";
import type { Connection } from "./connection.ts";

/** The history of webhooks. Writes only inside a write. */
export class HistoryRows {
  readonly #connection: Connection;
  readonly #insert: StatementSync;
  readonly #known: StatementSync;
  readonly #prune: readonly StatementSync[];
  readonly #remove: StatementSync;
  readonly #page: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#insert = connection.prepare(
      "INSERT INTO webhook_history (webhook, at, kind, revision, document) VALUES (?, ?, ?, ?, ?)",
    );
    this.#known = connection.prepare(
      `SELECT 1 FROM webhooks w WHERE w.id = ?1 AND w.deleted_at IS NULL
       AND NOT EXISTS (SELECT 1 FROM webhook_history WHERE webhook = ?1 AND at = ?2 AND kind = ?3)`,
    );
    this.#prune = ["IS NULL", "IS NOT NULL"].map((revision) =>
      connection.prepare(
        `DELETE FROM webhook_history WHERE webhook = ?1 AND revision ${revision} AND seq <=
           (SELECT seq FROM webhook_history WHERE webhook = ?1 AND revision ${revision}
            ORDER BY seq DESC LIMIT 1 OFFSET ${historyEntriesMax})`,
      ),
    );
    this.#remove = connection.prepare("DELETE FROM webhook_history WHERE webhook = ?");
    this.#page = connection.prepare(
      `SELECT seq, document FROM webhook_history WHERE webhook = ? AND seq < ? AND (? = 0 OR revision IS NOT NULL)
       ORDER BY seq DESC LIMIT ? OFFSET ?`,
    );
  }

  write(webhookId: string, entries: readonly WebhookHistoryEntry[]): void {
    if (entries.length === 0) return;
    for (const entry of entries)
      this.#insert.run(webhookId, entry.at, entry.kind, entry.revision, historyDocument(entry));
    for (const statement of this.#prune) statement.run(webhookId);
  }

  /** Entries may have been written before, and their webhook may be deleted. */
  writeMoves(webhookId: string, moves: readonly WebhookHistoryEntry[]): void {
    const isNew = ({ at, kind }: WebhookHistoryEntry): boolean =>
      this.#known.get(webhookId, at, kind) !== undefined;
    this.write(webhookId, moves.filter(isNew));
  }

  removeOf(webhookId: string): void {
    this.#remove.run(webhookId);
  }

  page({ webhookId, revisionsOnly, page }: WebhookHistoryQuery): Page<StoredHistoryEntry> {
    const before = page.before ?? Number.MAX_SAFE_INTEGER;
    const rows = this.#connection.read(() =>
      this.#page.all(webhookId, before, revisionsOnly ? 1 : 0, page.limit + 1, page.offset),
    );
    return historyPage(rows as unknown as HistoryRow[], page);
  }
}
