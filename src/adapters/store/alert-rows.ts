import type { AlertMute, AlertRecord } from "../../core/alerts/alert-record.ts";
import type { Page } from "../../ports/store.ts";
import type { AlertQuery, StoredAlertRule } from "../../ports/store/alerts.ts";

/** Rows as both stores select them. */
export type AlertDocumentRow = [document: string];
export type AlertListRow = [seq: number, document: string];

/** Limit on alerts evaluated in one round; more at once have one common cause. */
export const currentAlertsMax = 5_000;

/** The operator has no tenant id, and a primary key cannot be null. */
export function ownerOf(tenantId: string | null): string {
  return tenantId ?? "";
}

export function toAlert([document]: AlertDocumentRow): AlertRecord {
  return JSON.parse(document) as AlertRecord;
}

export function toAlertRule([document]: AlertDocumentRow): StoredAlertRule {
  return JSON.parse(document) as StoredAlertRule;
}

export function toAlertMute([document]: AlertDocumentRow): AlertMute {
  return JSON.parse(document) as AlertMute;
}

/** The alert, if this tenant may see it. */
export function visibleAlert(row: AlertDocumentRow | undefined, tenantId: string | null): AlertRecord | null {
  const alert = row === undefined ? null : toAlert(row);
  return alert === null || (tenantId !== null && alert.tenantId !== tenantId) ? null : alert;
}

/** One row more than the limit shows whether there is an older one. */
export function toAlertPage(
  rows: readonly AlertListRow[],
  { page }: Pick<AlertQuery, "page">,
): Page<AlertRecord> {
  const shown = rows.slice(0, page.limit);
  return {
    rows: shown.map(([, document]) => toAlert([document])),
    next: rows.length > page.limit ? (shown.at(-1)?.[0] ?? null) : null,
  };
}
