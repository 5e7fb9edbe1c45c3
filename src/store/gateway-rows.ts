import { parseLossless } from "../domain/json/lossless.ts";
import type { Connection } from "../features/gateway/source.ts";
import type {
  AnswerOutcome,
  HeldMessage,
  ReceivedRequest,
  RecentOutcome,
  RequestFilter,
  RequestPlace,
  RequestSearch,
  SettledMessage,
} from "../ports/store/gateway.ts";
import { clocksDifferMs, type SearchPage } from "../ports/store/search.ts";
import { uuidV7Floor, uuidV7TimeMs } from "../domain/uuid.ts";

/** A log row, as both stores select it. */
export type RequestRow = readonly [document: string, bookmark: string | null, body: Uint8Array | null];

export function requestColumns(body: string): string {
  return `document, bookmark, ${body}`;
}

export function toRequest([document, bookmark, body]: RequestRow): ReceivedRequest {
  const stored = JSON.parse(document) as Omit<ReceivedRequest, "more"> &
    Partial<Pick<ReceivedRequest, "more">>;
  return {
    ...stored,
    more: stored.more ?? 0,
    bookmark,
    body: body === null ? null : new Uint8Array(body),
  };
}

/**
 * The smallest index that contains all results of a search in order. `rows` says which rows it covers (null for all);
 * `owner` is the source or tenant whose rows are read.
 */
export interface RequestIndex {
  readonly rows: "notable" | "bookmark" | null;
  readonly owner: { readonly column: "source" | "tenant"; readonly id: string } | null;
}

/** Must match the indexes in the migrations. */
export const indexedRowsSql = {
  notable: "(outcome <> 'accepted' OR status >= 400)",
  bookmark: "bookmark IS NOT NULL",
} as const;

/** Most log entries are successes, and most searches look for failures. */
export function requestIndex(filter: RequestFilter): RequestIndex {
  const { bookmarked, outcome, status, cause } = filter;
  if (bookmarked === true) return { rows: "bookmark", owner: null };
  const wantsNotable = cause !== null || (outcome ?? "accepted") !== "accepted" || (status ?? 0) >= 400;
  return { rows: wantsNotable ? "notable" : null, owner: ownerOf(filter) };
}

function ownerOf({ sourceId, tenantId }: RequestFilter): RequestIndex["owner"] {
  if (sourceId !== null) return { column: "source", id: sourceId };
  return tenantId === null ? null : { column: "tenant", id: tenantId };
}

/** Returns the conditions of a filter on log rows; `add` takes a value and returns its placeholder. */
export function requestConditions(
  filter: RequestFilter,
  add: (value: string | number) => string,
): readonly string[] {
  const { tenantId, sourceId, status, outcome, cause, bookmarked, from, to } = filter;
  const compared = [
    ["tenant =", tenantId],
    ["source =", sourceId],
    ["status =", status],
    ["outcome =", outcome],
    ["cause =", cause],
    ["received_at >=", from],
    ["received_at <", to],
  ] as const;
  const given = compared.flatMap(([left, value]) => (value === null ? [] : [`${left} ${add(value)}`]));
  if (bookmarked === null) return given;
  return [...given, `bookmark IS ${bookmarked ? "NOT NULL" : "NULL"}`];
}

/** Ids that bound the rows of a search; both bounds are exclusive. */
export function requestSpan({ filter: { from, to }, after }: Pick<RequestSearch, "filter" | "after">): {
  readonly above: string;
  readonly below: string;
} {
  const end = to === null ? lastId : uuidV7Floor(to + clocksDifferMs);
  return {
    above: from === null ? "" : uuidV7Floor(from - clocksDifferMs),
    below: after !== null && after.id < end ? after.id : end,
  };
}

/** Greater than every id. */
const lastId = "g";

/** Ids contain the time, so the last id shows how far the search got. */
export function requestPage(
  rows: readonly ReceivedRequest[],
  next: string | null,
  isCutShort: boolean,
): SearchPage<ReceivedRequest, RequestPlace> {
  if (next === null) return { rows, next, searchedTo: null, isCutShort };
  return { rows, next: { id: next }, searchedTo: uuidV7TimeMs(next), isCutShort };
}

/** The document without the fields that have columns. */
export function requestDocument(request: ReceivedRequest): string {
  return JSON.stringify({ ...request, bookmark: undefined, body: undefined });
}

/** The messages of a request that are held for connections. */
export function heldOf({ id, eventId, forwards }: ReceivedRequest): readonly HeldMessage[] {
  if (eventId === null) return [];
  return forwards
    .filter(({ result }) => result === "held")
    .map(({ connectionId }) => ({ connectionId, requestId: id, eventId }));
}

/** The request with the outcomes of its held messages. */
export function settledRequest(
  request: ReceivedRequest,
  messages: readonly SettledMessage[],
): ReceivedRequest {
  const forwards = request.forwards.map((note) => {
    const settled = messages.find(({ connectionId }) => connectionId === note.connectionId);
    if (settled === undefined || note.result !== "held") return note;
    return { ...note, result: settled.result, detail: settled.detail };
  });
  return { ...request, forwards };
}

/**
 * The document of a connection whose release has ended; null if the connection was paused, resumed or changed during
 * the release.
 */
export function releasedConnection(document: string, releasingSince: number): Connection | null {
  const connection = parseLossless(document) as Connection;
  if (connection.pausedAt !== null || connection.releasingSince !== releasingSince) return null;
  return { ...connection, releasingSince: null };
}

export type HeldRow = readonly [connectionId: string, requestId: string, eventId: string];

export function toHeld([connectionId, requestId, eventId]: HeldRow): HeldMessage {
  return { connectionId, requestId, eventId };
}

export type RecentRow = readonly [
  sourceId: string,
  outcome: RecentOutcome["outcome"],
  count: number | bigint,
  lastReceivedAt: number | bigint,
];

export function toRecent([sourceId, outcome, count, lastReceivedAt]: RecentRow): RecentOutcome {
  return { sourceId, outcome, count: Number(count), lastReceivedAt: Number(lastReceivedAt) };
}

export type AnswerRow = readonly [fingerprint: string, expiresAt: number | bigint, result: string | null];

/** The result of a claim whose key already has an entry. */
export function answerOutcome(row: AnswerRow, fingerprint: string): AnswerOutcome {
  const [known, expiresAt, result] = row;
  if (known !== fingerprint) return { kind: "mismatch" };
  if (result !== null) return { kind: "completed", result };
  return { kind: "running", expiresAt: Number(expiresAt) };
}
