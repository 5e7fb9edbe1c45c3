import type { AlertRecord } from "../../core/alerts/alert-record.ts";
import type { AlertMessage } from "../../core/alerts/due-messages.ts";
import {
  instant,
  type OperationalEvent,
  operatorTenantId,
} from "../../core/notifications/operational-event.ts";

/** Operational events for the alerts that channels are notified of. */
export function alertEvents(messages: readonly AlertMessage[], now: number): readonly OperationalEvent[] {
  return messages.flatMap(({ fired, resolved }) => [
    ...fired.map((alert) => eventOf(alert, "posthorn.alert.fired", now)),
    ...resolved.map((alert) => eventOf(alert, "posthorn.alert.resolved", now)),
  ]);
}

function eventOf(
  alert: AlertRecord,
  type: "posthorn.alert.fired" | "posthorn.alert.resolved",
  at: number,
): OperationalEvent {
  const { id, rule, severity, summary, value, threshold, tenantId, webhookId, firedAt } = alert;
  return {
    key: `${type}:${id}`,
    type,
    tenantId: tenantId ?? operatorTenantId,
    webhookId: null,
    at,
    data: {
      alert_id: id,
      rule,
      severity,
      summary,
      value,
      threshold,
      tenant_id: tenantId,
      webhook_id: webhookId,
      ...(type === "posthorn.alert.resolved" && { fired_at: instant(firedAt ?? at) }),
      occurred_at: instant(at),
    },
    ...(alert.audience === "operator" && { onlyForOperator: true }),
  };
}
