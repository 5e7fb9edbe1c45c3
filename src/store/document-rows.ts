import { parseLossless } from "../domain/json/lossless.ts";
import { webhookFromDocument } from "../domain/webhook.ts";
import type { AlertMute, AlertRecord } from "../features/alerts/alert.ts";
import type { Page } from "../ports/store.ts";
import type { AlertQuery, StoredAlertRule } from "../ports/store/alerts.ts";
import type { AuditEntry, AuditFilter, AuditSearch, StoredAuditEntry } from "../ports/store/audit.ts";
import type { WebhookRuntimeState } from "../ports/store/deliveries.ts";
import type { IdempotencyClaim, IdempotencyState } from "../ports/store/idempotency.ts";
import { type BatchOperation, newOperationDefaults } from "../ports/store/operations.ts";
import type { NewPortalSession, PortalLogo, PortalSession, PortalSettings } from "../ports/store/portal.ts";
import {
  defaultWorkerPool,
  type EventType,
  type EventTypePage,
  type EventTypeQuery,
  type Tenant,
} from "../ports/store/registry.ts";
import type { SearchPage } from "../ports/store/search.ts";
import type { StoredSecret, StoredWebhook } from "../ports/store/webhooks.ts";

/** Rows as both stores select them. */
export type AlertDocumentRow = [document: string];
export type AlertListRow = [seq: number, document: string];

/** Limit on alerts evaluated in one round; more at once have one common cause. */
export const currentAlertsMax = 5_000;

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

/** A row as both stores select it. */
export type AuditRow = [seq: number, document: string];

/** Rows examined in one step of a search. */
const auditRowsAtOnce = 2_000;

/** All names by which a filter may identify the actor. Each is between line feeds, which names cannot contain. */
export function actorText({ actor }: AuditEntry): string {
  const names = [actor.keyId, actor.keyName, actor.sessionId, actor.reference].filter(
    (name) => name !== null,
  );
  return `\n${names.join("\n")}\n`;
}

function toAuditEntry([seq, document]: AuditRow): StoredAuditEntry {
  return { ...(parseLossless(document) as AuditEntry), position: seq };
}

/** The filter as six parameters: tenant, actor, action, target, from, to. */
export function auditParameters(filter: AuditFilter): readonly (string | number | null)[] {
  const { tenantId, actor, action, target, from, to } = filter;
  return [tenantId, actor === null ? null : `\n${actor}\n`, action, target, from, to];
}

export interface AuditWindow {
  readonly below: number;
  readonly from: number;
  readonly limit: number;
}

/** How the search reads a store's log. Positions grow with time. */
interface AuditLogReader {
  /** The newest and the oldest position; 0 in an empty log. */
  edges(): Promise<readonly [newest: number, oldest: number]>;
  /** Matching rows from `from` to below `below`, newest first, up to `limit`. */
  window(place: AuditWindow): Promise<readonly AuditRow[]>;
  /** The time at which the row at a position, or the next newer one, was written. */
  createdAt(position: number): Promise<number | null>;
}

/** Searches without an index: walks back window by window, until the page is full or the budget is spent. */
export async function searchAuditLog(
  log: AuditLogReader,
  { after, limit, budget }: Pick<AuditSearch, "after" | "limit" | "budget">,
): Promise<SearchPage<StoredAuditEntry>> {
  const found: AuditRow[] = [];
  const [newest, oldest] = await log.edges();
  for (let below = after?.position ?? newest + 1; ; ) {
    const from = Math.max(oldest, below - auditRowsAtOnce);
    found.push(...(await log.window({ below, from, limit: limit + 1 - found.length })));
    budget.spend(auditRowsAtOnce);
    const rows = found.slice(0, limit).map(toAuditEntry);
    const isFull = found.length > limit;
    if (!isFull && from <= oldest) return { rows, next: null, searchedTo: null, isCutShort: false };
    if (isFull || budget.isSpent) {
      const position = isFull ? (rows.at(-1)?.position ?? from) : from;
      const next = { position, dueAt: null };
      return { rows, next, searchedTo: await log.createdAt(position), isCutShort: !isFull };
    }
    below = from;
  }
}

/** The answer of the earlier call; null while it has none. */
export function answerOf(
  fingerprint: string,
  /** Null while the call runs, or after a crash. */ status: number | null,
  body: string | null,
  entry: IdempotencyClaim,
): Exclude<IdempotencyState, { readonly kind: "claimed" | "running" }> | null {
  if (fingerprint !== entry.fingerprint) return { kind: "mismatch" };
  return status === null ? null : { kind: "finished", status, body: body ?? "" };
}

/** An operation as both stores select it. */
export type OperationRow = [tenant: string | null, document: string, revision: number];

/** Documents of older versions lack some fields, and do not raise their revision. */
export function readOperation([, document, revision]: OperationRow): BatchOperation {
  return { ...newOperationDefaults, ...(JSON.parse(document) as BatchOperation), revision };
}

/** The operation, if it belongs to this tenant or the caller sees all tenants. */
export function toOperation(row: OperationRow | undefined, tenantId: string | null): BatchOperation | null {
  if (row === undefined || (tenantId !== null && tenantId !== row[0])) return null;
  return readOperation(row);
}

/** One row more than the limit shows whether there is an older one. */
export function toOperationPage(
  rows: readonly (readonly [seq: number, ...row: OperationRow])[],
  limit: number,
): Page<BatchOperation> {
  const shown = rows.slice(0, limit);
  return {
    rows: shown.map(([, ...row]) => readOperation(row)),
    next: rows.length > limit ? (shown.at(-1)?.[0] ?? null) : null,
  };
}

/** A row as both stores select it; fields that change are stored in columns. */
export type PortalSessionRow = readonly [
  document: string,
  redeemedAt: number | bigint | null,
  endedAt: number | bigint | null,
];

export const portalSessionColumns = "document, redeemed_at, ended_at";

export function toPortalSession([document, redeemedAt, endedAt]: PortalSessionRow): PortalSession {
  return {
    ...(JSON.parse(document) as PortalSession),
    redeemedAt: redeemedAt === null ? null : Number(redeemedAt),
    endedAt: endedAt === null ? null : Number(endedAt),
  };
}

export function toPortalSessionOrNull(row: PortalSessionRow | undefined): PortalSession | null {
  return row === undefined ? null : toPortalSession(row);
}

/** The document without the fields that have columns. */
export function portalSessionDocument(session: NewPortalSession): string {
  const { codeHash: _, codeExpiresAt: __, ...document } = session;
  return JSON.stringify(document);
}

/** How long an ended session is kept, and how many are removed in one step. */
export const endedSessionsKeptMs = 86_400_000;
export const removedAtOnce = 200;

/** The deployment is stored as the empty name, which no tenant can have: a primary key cannot be null. */
export function tenantColumn(tenantId: string | null): string {
  return tenantId ?? "";
}

export function toPortalSettings(row: readonly [document: string] | undefined): PortalSettings | null {
  return row === undefined ? null : (JSON.parse(row[0]) as PortalSettings);
}

export function toPortalLogo(
  row: readonly [mediaType: string, bytes: Uint8Array] | undefined,
): PortalLogo | null {
  if (row === undefined) return null;
  return { mediaType: row[0] as PortalLogo["mediaType"], bytes: new Uint8Array(row[1]) };
}

/** Parses a saved tenant, including one saved by a version without worker pools. */
export function toTenant(document: string): Tenant {
  return { workerPool: defaultWorkerPool, ...(parseLossless(document) as Omit<Tenant, "workerPool">) };
}

/** A document as both stores select it, possibly followed by more columns. */
export type DocumentRow = readonly [document: string, ...more: unknown[]];

/** Parses a document that was saved as `Document`. */
export function toDocument<Document>([document]: DocumentRow): Document {
  return parseLossless(document) as Document;
}

/** The start for `after` in a listing: sorts before every tenant and name. */
export function startOf({ after }: EventTypeQuery): readonly [tenantId: string, name: string] {
  return after === null ? ["", ""] : [after.tenantId, after.name];
}

export function toEventTypePage(documents: readonly string[], hasMore: boolean): EventTypePage {
  const rows = documents.map((document) => parseLossless(document) as EventType);
  const last = rows.at(-1);
  const next = hasMore && last !== undefined ? { tenantId: last.tenantId, name: last.name } : null;
  return { rows, next };
}

/** The owner kinds in the table of secrets; part of the stored format. */
export const secretOwners = { webhook: 0, tenant: 1 } as const;

/** The owner of some secrets. */
export interface SecretOwner {
  readonly kind: (typeof secretOwners)[keyof typeof secretOwners];
  readonly id: string;
}

/** A secret as both stores select it. */
export type SecretRow = [
  kind: StoredSecret["kind"],
  ciphertext: Uint8Array,
  digest: string,
  createdAt: number,
  expiresAt: number | null,
];

/** A webhook with the state of its endpoint, as both stores select it; `stateOf` is null without one. */
export type WebhookRow = [
  id: string,
  document: string,
  ...state: RuntimeRow | [null, null, null, null, null, null],
];

/** The stored state of an endpoint. */
export type RuntimeRow = [
  webhookId: string,
  pausedUntil: number | null,
  pauseReason: string | null,
  lastSuccessAt: number | null,
  circuit: string | null,
  health: string | null,
];

/** A secret as the port shows it; the row may have further columns. */
export function toSecret([kind, ciphertext, digest, createdAt, expiresAt]: readonly [
  ...SecretRow,
  ...unknown[],
]): StoredSecret {
  return { kind, ciphertext, digest, createdAt, expiresAt };
}

/** A webhook as the port shows it. */
export function toStoredWebhook(
  [, document, ...state]: WebhookRow,
  secrets: readonly StoredSecret[],
): StoredWebhook {
  const runtime = state[0] === null ? null : toRuntimeState(state);
  return { webhook: webhookFromDocument(parseLossless(document)), secrets, runtime };
}

/** The state of a webhook that survives restarts. */
export function toRuntimeState([
  webhookId,
  pausedUntil,
  pauseReason,
  lastSuccessAt,
  circuit,
  health,
]: RuntimeRow): WebhookRuntimeState {
  return { webhookId, pausedUntil, pauseReason, lastSuccessAt, circuit, health };
}
