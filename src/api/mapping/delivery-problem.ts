import type { DeliveryProblemView } from "../../services/services.ts";
import { formatInstant, formatInstantOrNull } from "./instant.ts";

export function deliveryProblemJson(view: DeliveryProblemView): Record<string, unknown> {
  const { problem, mute } = view;
  const { kind } = problem;
  return {
    id: problem.id,
    webhook_id: problem.webhookId,
    tenant_id: problem.tenantId,
    state: view.state,
    title: view.title,
    remedy: view.remedy,
    failure_category: kind.category,
    http_status: kind.statusCode,
    error_code: kind.errorCode,
    answer: kind.answer,
    outcome: problem.outcome,
    first_seen_at: formatInstant(problem.firstSeenAt),
    last_seen_at: formatInstant(problem.lastSeenAt),
    resolved_at: formatInstantOrNull(problem.resolvedAt),
    count: problem.count,
    deliveries: problem.deliveries,
    delivery_ids: problem.deliveryIds,
    muted_until: formatInstantOrNull(mute?.until ?? null),
    mute_reason: mute?.reason ?? null,
    note: problem.note,
  };
}
