import { renderStandardPayload, standardContentType } from "../../core/payload-formats/standard.ts";
import type {
  ClaimedDelivery,
  Lease,
  NewDelivery,
  NewEvent,
  PublishCommand,
} from "../../ports/store/deliveries.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { AcceptedInput } from "./event-gate.ts";

/** One publish in the transaction that is being written. */
export interface Draft {
  readonly command: PublishCommand;
  /** Deliveries written with the event, and their lanes; the others follow in further transactions. */
  readonly deliveries: readonly NewDelivery[];
  readonly lanes: readonly Lane[];
}

/** Number of deliveries in the first and all further transactions. */
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
  const body = renderStandardPayload({ eventType, timestamp, dataJson, metadataJson, links });
  return { contentType: standardContentType, raw: false, body };
}

/** The delivery as a claim would have returned it: leased by the transaction that stored it. */
export function claimed(
  draft: Draft,
  delivery: NewDelivery,
  lease: Lease,
  /** Tenant of the webhook, as this process knows it. */ webhookTenantId: string,
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
