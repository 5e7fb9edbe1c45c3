import type { ReceivedRequest } from "../../ports/store/gateway.ts";
import { formatInstant } from "./instant.ts";

/** A listed request, without headers and body. */
export function gatewayRequestJson(request: ReceivedRequest): object {
  const { forwards } = request;
  return {
    id: request.id,
    tenant_id: request.tenantId,
    source_id: request.sourceId,
    received_at: formatInstant(request.receivedAt),
    method: request.method,
    path: request.path,
    body_bytes: request.bodyBytes,
    status: request.status,
    outcome: request.outcome,
    rejection_cause: request.cause,
    detail: request.detail,
    duration_ms: request.durationMs,
    scheme: request.scheme,
    event_type: request.eventType,
    original_type: request.originalType,
    event_id: request.eventId,
    bookmark: request.bookmark,
    more_count: request.more,
    forwards: forwards.map(({ connectionId, webhookId, result, detail }) => ({
      connection_id: connectionId,
      webhook_id: webhookId,
      result,
      detail,
    })),
  };
}
