import { type EventContent, noContentHeaders, type RenderedContent } from "./content.ts";
import { dataBytes } from "./standard.ts";

/**
 * Profile `x-webhook`: the event object of WDS-81 to 88. `idempotency_key` is the publisher's, or the event's id if
 * none was given (WDS-172). Raw content is sent unchanged, because the object cannot contain other media types.
 */
export function renderXWebhook(content: EventContent): RenderedContent {
  if (content.raw) return { contentType: content.contentType, body: content.body, headers: noContentHeaders };
  const { eventId, eventType, source, eventPriority, sequenceNumber } = content;
  const head = `{"id":"${eventId}","event_type":"${eventType}","data":`;
  const tail = JSON.stringify({
    timestamp: new Date(content.timestamp).toISOString(),
    idempotency_key: content.idempotencyKey ?? eventId,
    source,
    priority: eventPriority,
    sequence_number: sequenceNumber,
  });
  const body = Buffer.concat([Buffer.from(head), dataBytes(content), Buffer.from(`,${tail.slice(1)}`)]);
  return { contentType: "application/json", body, headers: noContentHeaders };
}
