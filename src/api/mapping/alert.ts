import type { AlertRule } from "../../core/alerts/alert-rule.ts";
import { defaultAlertRules } from "../../core/alerts/default-rules.ts";
import type { AlertPreview } from "../../services/alerts/alert-preview.ts";
import type { AlertView } from "../../services/alerts/alert-service.ts";
import { formatInstant, formatInstantOrNull } from "./instant.ts";

const runbookOf = (page: string | null): string | null => (page === null ? null : `docs/runbooks/${page}.md`);
const seconds = (ms: number): number => Math.round(ms / 1_000);

export function alertRuleJson(rule: AlertRule): Record<string, unknown> {
  return {
    name: rule.name,
    tenant_id: rule.tenantId,
    is_default: rule.isDefault,
    title: rule.title,
    description: rule.description,
    severity: rule.severity,
    metric: rule.metric,
    comparison: rule.comparison,
    threshold: rule.threshold,
    window_seconds: seconds(rule.windowMs),
    for_seconds: seconds(rule.forMs),
    keep_firing_for_seconds: seconds(rule.keepFiringForMs),
    attempts_min: rule.attemptsMin,
    webhook_id: rule.webhookId,
    event_type: rule.eventType,
    audience: rule.audience,
    enabled: rule.enabled,
    muted_until: formatInstantOrNull(rule.mutedUntil),
    mute_reason: rule.muteReason,
    runbook: runbookOf(rule.runbook),
  };
}

export function alertJson({ alert, mutedUntil, muteReason }: AlertView): Record<string, unknown> {
  const known =
    alert.ruleTenantId === null ? defaultAlertRules.find(({ name }) => name === alert.rule) : undefined;
  return {
    id: alert.id,
    rule: alert.rule,
    rule_tenant_id: alert.ruleTenantId,
    title: alert.title,
    severity: alert.severity,
    state: alert.state,
    tenant_id: alert.tenantId,
    webhook_id: alert.webhookId,
    subject: alert.subject,
    summary: alert.summary,
    value: alert.value,
    threshold: alert.threshold,
    since: formatInstant(alert.since),
    fired_at: formatInstantOrNull(alert.firedAt),
    resolved_at: formatInstantOrNull(alert.resolvedAt),
    told_at: formatInstantOrNull(alert.firedToldAt),
    inhibited_by: alert.inhibitedBy,
    muted_until: formatInstantOrNull(mutedUntil),
    mute_reason: muteReason,
    runbook: runbookOf(known?.runbook ?? null),
  };
}

export function alertPreviewJson(preview: AlertPreview): Record<string, unknown> {
  return {
    from: formatInstant(preview.from),
    to: formatInstant(preview.to),
    fired: preview.fired,
    firing_seconds: seconds(preview.firingMs),
    points: preview.points.map(({ at, value, isFiring }) => ({
      at: formatInstant(at),
      value: value === null ? null : Number(value.toPrecision(6)),
      firing: isFiring,
    })),
  };
}
