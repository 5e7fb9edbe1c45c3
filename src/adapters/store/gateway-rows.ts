import type {
  AnswerOutcome,
  HeldMessage,
  ReceivedRequest,
  RecentOutcome,
} from "../../ports/store/gateway.ts";

/** As both stores select it. */
export type RequestRow = readonly [document: string, bookmark: string | null, body: Uint8Array | null];

export function requestColumns({ body }: { readonly body: string }): string {
  return `document, bookmark, ${body}`;
}

export function toRequest([document, bookmark, body]: RequestRow): ReceivedRequest {
  return {
    ...(JSON.parse(document) as ReceivedRequest),
    bookmark,
    body: body === null ? null : new Uint8Array(body),
  };
}

/** Without what has columns of its own. */
export function requestDocument(request: ReceivedRequest): string {
  return JSON.stringify({ ...request, bookmark: undefined, body: undefined });
}

/** What of a request waits for connections. */
export function heldOf({ id, eventId, forwards }: ReceivedRequest): readonly HeldMessage[] {
  if (eventId === null) return [];
  return forwards
    .filter(({ result }) => result === "held")
    .map(({ connectionId }) => ({ connectionId, requestId: id, eventId }));
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

/** What a claim is told about an entry that is in its way. */
export function answerOutcome(row: AnswerRow, fingerprint: string): AnswerOutcome {
  const [known, expiresAt, result] = row;
  if (known !== fingerprint) return { kind: "mismatch" };
  if (result !== null) return { kind: "completed", result };
  return { kind: "running", expiresAt: Number(expiresAt) };
}

/** How many answers that ran out are removed at once. */
export const purgedAtOnce = 500;
