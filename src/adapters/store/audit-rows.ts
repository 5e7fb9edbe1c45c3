import { parseLossless } from "../../core/json/lossless.ts";
import type { AuditEntry, AuditFilter, AuditSearch, StoredAuditEntry } from "../../ports/store/audit.ts";
import type { SearchPage } from "../../ports/store/search.ts";

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
export interface AuditLogReader {
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
