import type { WebhookHistoryEntry } from "../../../core/webhook-history.ts";
import type { Page } from "../../../ports/store.ts";
import type { StoredHistoryEntry, WebhookHistoryQuery } from "../../../ports/store/webhooks.ts";
import { historyDocument, historyEntriesMax, historyPage, type HistoryRow } from "../webhook-changes.ts";
import { numbers, texts } from "./columns.ts";
import type { Runner } from "./database.ts";

export interface WrittenEntry {
  readonly webhookId: string;
  readonly entry: WebhookHistoryEntry;
}

/**
 * Skips possible repeats that are already stored, and entries of deleted webhooks; then removes entries beyond the
 * limit.
 */
export async function writeHistory(
  runner: Runner,
  written: readonly WrittenEntry[],
  { mayRepeat }: { readonly mayRepeat: boolean },
): Promise<void> {
  if (written.length === 0) return;
  const webhookIds = written.map(({ webhookId }) => webhookId);
  await runner.rows(
    `INSERT INTO posthorn.webhook_history (webhook, at, kind, revision, document)
     SELECT g.webhook, g.at, g.kind, g.revision, g.document
     FROM unnest($1::text[], $2::bigint[], $3::text[], $4::int[], $5::text[]) WITH ORDINALITY
       AS g (webhook, at, kind, revision, document, place)
     WHERE EXISTS (SELECT FROM posthorn.webhooks w WHERE w.id = g.webhook AND w.deleted_at IS NULL)
       AND (NOT $6::boolean OR NOT EXISTS (SELECT FROM posthorn.webhook_history h
         WHERE h.webhook = g.webhook AND h.at = g.at AND h.kind = g.kind))
     ORDER BY g.place`,
    [
      texts(webhookIds),
      numbers(written.map(({ entry }) => entry.at)),
      texts(written.map(({ entry }) => entry.kind)),
      numbers(written.map(({ entry }) => entry.revision)),
      texts(written.map(({ entry }) => historyDocument(entry))),
      mayRepeat,
    ],
  );
  for (const revision of ["IS NULL", "IS NOT NULL"])
    await runner.rows(
      `DELETE FROM posthorn.webhook_history h USING unnest($1::text[]) AS g (webhook)
       WHERE h.webhook = g.webhook AND h.revision ${revision} AND h.seq <=
         (SELECT o.seq FROM posthorn.webhook_history o WHERE o.webhook = g.webhook AND o.revision ${revision}
          ORDER BY o.seq DESC LIMIT 1 OFFSET ${historyEntriesMax})`,
      [texts([...new Set(webhookIds)])],
    );
}

export async function readHistory(
  runner: Runner,
  { webhookId, revisionsOnly, page }: WebhookHistoryQuery,
): Promise<Page<StoredHistoryEntry>> {
  const rows = await runner.rows<HistoryRow>(
    `SELECT seq, document FROM posthorn.webhook_history
     WHERE webhook = $1 AND seq < $2 AND (NOT $3::boolean OR revision IS NOT NULL) ORDER BY seq DESC LIMIT $4 OFFSET $5`,
    [webhookId, page.before ?? Number.MAX_SAFE_INTEGER, revisionsOnly, page.limit + 1, page.offset],
  );
  return historyPage(rows, page);
}
