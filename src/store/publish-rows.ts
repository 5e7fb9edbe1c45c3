import {
  type DuplicateOriginal,
  fanOutRows,
  type NewDelivery,
  type NewEvent,
  type PublishCommand,
  type PublishResult,
} from "../ports/store/deliveries.ts";

/** The publish to which a deduplication key refers. */
export interface EarlierPublish {
  readonly fingerprint: string | null;
  readonly original: DuplicateOriginal;
}

/** Whether repeats of this publish must be detected. */
export function isKeyed({ event, dedupUntil }: PublishCommand): boolean {
  return dedupUntil !== null && event.idempotencyKey !== null;
}

/** The result of a publish whose key already refers to an event. */
export function answerToRepeat(
  { fingerprint }: NewEvent,
  earlier: EarlierPublish,
): Exclude<PublishResult, { readonly kind: "accepted" }> {
  if (earlier.fingerprint !== fingerprint) return { kind: "key_conflict", eventId: earlier.original.id };
  return { kind: "duplicate", original: earlier.original };
}

type Row = [
  id: string,
  webhookId: string,
  format: NewDelivery["format"],
  dueAt: number,
  state: NewDelivery["state"],
  reason: NewDelivery["reason"],
];

/** Fields that all deliveries of a part share are stored once. */
type PartDocument = Pick<NewDelivery, "priority" | "createdAt" | "origin"> & {
  readonly rows: readonly Row[];
};

/** Deliveries to be written later, in their stored form. */
interface StoredPart {
  readonly count: number;
  readonly document: string;
}

export function partsOf({ later = [], partRows = fanOutRows }: PublishCommand): readonly StoredPart[] {
  const parts: StoredPart[] = [];
  for (let from = 0; from < later.length; from += partRows) {
    const deliveries = later.slice(from, from + partRows);
    parts.push({ count: deliveries.length, document: packPart(deliveries) });
  }
  return parts;
}

function packPart(deliveries: readonly NewDelivery[]): string {
  const [first] = deliveries;
  if (first === undefined) throw new RangeError("a part has at least one delivery");
  const { priority, createdAt, origin } = first;
  const rows = deliveries.map(({ id, lane, format, dueAt, state, reason, claim }): Row => {
    if (lane.ordering !== "none" || claim)
      throw new Error("ordered and claimed deliveries cannot be written later");
    return [id, lane.webhookId, format, dueAt, state, reason];
  });
  return JSON.stringify({ priority, createdAt, origin, rows } satisfies PartDocument);
}

export function unpackPart(document: string): readonly NewDelivery[] {
  const { priority, createdAt, origin, rows } = JSON.parse(document) as PartDocument;
  return rows.map(([id, webhookId, format, dueAt, state, reason]) => ({
    id,
    lane: { webhookId, ordering: "none", eventType: null },
    priority,
    state,
    reason,
    dueAt,
    createdAt,
    origin,
    format,
    claim: false,
    leaseUntil: 0,
  }));
}
