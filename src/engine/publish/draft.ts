import { DuplicateEventError, PosthornError, UnavailableError } from "../../domain/errors.ts";
import { renderStandardPayload, standardContentType } from "../../domain/payload-formats.ts";
import { uuidV7TimeMs } from "../../domain/uuid.ts";
import type { PublishEntry, PublishKey } from "../../ports/shared-state.ts";
import { storeTroubles, StoreUnavailableError } from "../../ports/store.ts";
import type {
  ClaimedDelivery,
  DuplicateOriginal,
  Lease,
  NewDelivery,
  NewEvent,
  PublishCommand,
  PublishResult,
} from "../../ports/store/deliveries.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { AcceptedInput } from "./event-gate.ts";
import type { PublishReceipt } from "./publish-call.ts";

/** One publish in the transaction that is being composed. */
export interface Draft {
  readonly command: PublishCommand;
  /** Deliveries written with the event, and their lanes. The remaining deliveries follow in further transactions. */
  readonly deliveries: readonly NewDelivery[];
  readonly lanes: readonly Lane[];
}

/** Number of deliveries in the first transaction and all further ones. */
export function deliveryCount({ command }: Pick<Draft, "command">): number {
  return command.deliveries.length + (command.later?.length ?? 0);
}

/** The stored content of the event: the standard object, or the publisher's bytes. */
export function content({
  input,
  timestamp,
  payload,
}: AcceptedInput): Pick<NewEvent, "contentType" | "raw" | "body"> {
  if (payload.kind === "raw") return { contentType: payload.contentType, raw: true, body: payload.body };
  const { eventType, links = null } = input;
  const { dataJson, metadataJson } = payload;
  const body = renderStandardPayload(eventType, timestamp, dataJson, metadataJson, links);
  return { contentType: standardContentType, raw: false, body };
}

/** A delivery in the form that a claim would return: leased by the transaction that stored it. */
export function claimed(
  draft: Draft,
  delivery: NewDelivery,
  lease: Lease,
  /** Tenant of the webhook, according to this process. */ webhookTenantId: string,
  sequenceNumber: number,
): ClaimedDelivery {
  const { event } = draft.command;
  return {
    lease,
    id: delivery.id,
    webhookId: delivery.lane.webhookId,
    webhookTenantId,
    tenantId: event.tenantId,
    eventId: event.id,
    eventType: event.eventType,
    priority: delivery.priority,
    progress: {
      state: "pending" as const,
      attemptCount: 0,
      createdAt: delivery.createdAt,
      firstAttemptAt: null,
      dueAt: delivery.dueAt,
      reason: null,
      retried: null,
    },
    format: delivery.format,
    timestamp: event.timestamp,
    source: event.source,
    idempotencyKey: event.idempotencyKey,
    eventPriority: event.priority,
    sequenceNumber,
    contentType: event.contentType,
    raw: event.raw,
    body: event.body,
    trace: event.trace,
    relayed: event.relayed,
  };
}

export function answer(
  draft: Draft,
  result: PublishResult,
  resolve: (receipt: PublishReceipt) => void,
  reject: (error: Error) => void,
): void {
  const { event } = draft.command;
  const { id, eventType, tenantId, timestamp } = event;
  const idempotencyKey = event.idempotencyKey ?? id;
  if (result.kind === "key_conflict") return reject(keyReused(result.eventId));
  if (result.kind === "duplicate")
    return resolve(repeatReceipt(result.original, { tenantId, idempotencyKey }));
  const { sequenceNumber } = result;
  const deliveries = deliveryCount(draft);
  const deliveriesFollowing = deliveries - draft.deliveries.length;
  resolve({
    id,
    eventType,
    tenantId,
    timestamp,
    idempotencyKey,
    sequenceNumber,
    deliveries,
    duplicate: false,
    ...(deliveriesFollowing > 0 && { deliveriesFollowing }),
  });
}

/** A repeat gets the same result as the original. */
export function repeatReceipt(original: DuplicateOriginal, key: PublishKey): PublishReceipt {
  const { id, eventType, timestamp, sequenceNumber, deliveries } = original;
  return { id, eventType, ...key, timestamp, sequenceNumber, deliveries, duplicate: true };
}

export function keyReused(eventId: string): PosthornError {
  const detail = `the idempotency key was used for event ${eventId} with a different payload`;
  return new DuplicateEventError(eventId, "event_key_reused", detail);
}

/**
 * The entry for the shared memory of publishes, valid for as long as the store keeps the key. Null if the publish has
 * no key, or the result does not show how long the store keeps it.
 */
export function rememberedEntry(draft: Draft, result: PublishResult): PublishEntry | null {
  const { event, dedupUntil } = draft.command;
  const { tenantId, idempotencyKey, fingerprint, id, eventType, timestamp } = event;
  if (idempotencyKey === null || dedupUntil === null || result.kind === "key_conflict") return null;
  const key = { tenantId, idempotencyKey };
  if (result.kind === "accepted") {
    const { sequenceNumber } = result;
    const count = deliveryCount(draft);
    return {
      key,
      publish: { fingerprint, id, eventType, timestamp, sequenceNumber, deliveries: count },
      until: dedupUntil,
    };
  }
  // The key was stored with the first publish, so its lifetime started then.
  const firstAt = uuidV7TimeMs(result.original.id);
  if (firstAt === null) return null;
  return {
    key,
    publish: { ...result.original, fingerprint },
    until: Math.min(firstAt + dedupMs, dedupUntil),
  };
}

export function publishError(error: Error): Error {
  if (!(error instanceof StoreUnavailableError)) return error;
  if (error.outcome === "unknown") {
    const text =
      "the outcome of the write is unknown; repeat it with the same idempotency key, so that the event is " +
      "published once";
    return new UnavailableError(text, error);
  }
  if (error.trouble === "away")
    return new UnavailableError("the store cannot write now; the event was not published, try again", error);
  return new UnavailableError(`the event was not published: ${storeTroubles[error.trouble]}`, error);
}

export function inProgress(): PosthornError {
  return new PosthornError(
    "event_in_progress",
    "an event with this idempotency key is being published; try again",
    {
      retryAfterSeconds: 1,
    },
  );
}

/** How long a publisher's key is remembered (WDS-115). */
export const dedupMs = 86_400_000;
