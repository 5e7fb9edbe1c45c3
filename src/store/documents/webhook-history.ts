import type { WebhookHistoryEntry } from "../../domain/webhook-history.ts";
import { historyDocument, historyEntriesMax } from "../webhook-changes.ts";
import { batch, type Call, sql } from "./statement.ts";

const insert = sql(
  `INSERT INTO posthorn.webhook_history (webhook, at, kind, revision, document)
   SELECT g.webhook, g.at, g.kind, g.revision, g.document
   FROM unnest($2::int[], $3::text[], $4::bigint[], $5::text[], $6::int[], $7::text[])
     AS g (place, webhook, at, kind, revision, document)
   WHERE EXISTS (SELECT 1 FROM posthorn.webhooks AS w WHERE w.id = g.webhook AND w.deleted_at IS NULL)
     AND (NOT $1::boolean OR NOT EXISTS (SELECT 1 FROM posthorn.webhook_history AS h
       WHERE h.webhook = g.webhook AND h.at = g.at AND h.kind = g.kind))
   ORDER BY g.place`,
);

const prune = ["IS NULL", "IS NOT NULL"].map((revision) =>
  sql(
    `DELETE FROM posthorn.webhook_history WHERE seq IN (
       SELECT h.seq FROM unnest($1::text[]) AS g (webhook)
       JOIN posthorn.webhook_history AS h ON h.webhook = g.webhook
       WHERE h.revision ${revision} AND h.seq <= (
         SELECT o.seq FROM posthorn.webhook_history AS o WHERE o.webhook = g.webhook AND o.revision ${revision}
         ORDER BY o.seq DESC LIMIT 1 OFFSET ${historyEntriesMax}))`,
  ),
);

export interface WrittenEntry {
  readonly webhookId: string;
  readonly entry: WebhookHistoryEntry;
}

/**
 * Writes entries, except of deleted webhooks, and removes those beyond the limit. Entries that may have been written
 * before are compared with the stored ones.
 */
export function historyCalls(written: readonly WrittenEntry[], mayRepeat: boolean): readonly Call[] {
  if (written.length === 0) return [];
  const rows = written.map(({ webhookId, entry }, place) => {
    const { at, kind, revision } = entry;
    return [place, webhookId, at, kind, revision, historyDocument(entry)];
  });
  const webhookIds = [...new Set(written.map(({ webhookId }) => webhookId))].map((id) => [id]);
  return [...batch(insert, rows, mayRepeat), ...prune.flatMap((statement) => batch(statement, webhookIds))];
}
