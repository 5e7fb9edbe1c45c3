import { UnavailableError } from "../../domain/errors.ts";
import type { ApiOptions } from "../../http/context.ts";
import { filtersOf, formatInstant, formatInstantOrNull, inputOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import {
  alertFilters,
  alertListSchema,
  alertMuteFields,
  alertMuteSchema,
  alertPreviewSchema,
  alertQuerySchema,
  alertRuleFields,
  alertRuleInputSchema,
  alertRuleListSchema,
  alertRuleParams,
  alertRuleQuery,
  alertRuleSchema,
  alertSchema,
} from "../../resources/alert.ts";
import { closed, idParam } from "../../resources/schema.ts";
import type { AlertService } from "../services.ts";
import type { AlertPreview } from "./alert-preview.ts";
import type { AlertView } from "./alert-service.ts";
import type { AlertRule } from "./alert.ts";
import { defaultAlertRules } from "./default-rules.ts";

const runbookOf = (page: string | null): string | null => (page === null ? null : `docs/runbooks/${page}.md`);
const seconds = (ms: number): number => Math.round(ms / 1_000);

function alertRuleJson(rule: AlertRule): Record<string, unknown> {
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

function alertPreviewJson(preview: AlertPreview): Record<string, unknown> {
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

// Alert rules and the alerts they raise.

type Services = ApiOptions["services"];

export function alertRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  const { services } = options;
  return [
    listRulesRoute(services),
    putRuleRoute(services),
    deleteRuleRoute(services),
    previewRoute(services),
    listRoute(services, pager),
    muteRoute(services),
  ];
}

function alertsOf({ alerts }: Pick<Services, "alerts">): AlertService {
  if (alerts === null) throw new UnavailableError("this store does not support alerts");
  return alerts;
}

const whose =
  "A tenant's key accesses its own rules; an administrator accesses those of the operator, or of `tenant_id`.";

function listRulesRoute(services: Services): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/alert-rules",
    operationId: "listAlertRules",
    tag: "Alerts",
    summary: "List alert rules",
    description: `Built-in and custom rules. ${whose}`,
    access: "manage",
    query: alertRuleQuery,
    answers: { 200: { description: "All rules.", schema: alertRuleListSchema } },
    errors: [],
    handle: async ({ scope, query }) => {
      const rules = await alertsOf(services).rules(scope, tenantOf(query));
      return { status: 200, body: { data: rules.map(alertRuleJson) } };
    },
  });
}

function putRuleRoute(services: Services): Route {
  return defineRoute({
    method: "PUT",
    path: "/v1/alert-rules/{name}",
    operationId: "putAlertRule",
    tag: "Alerts",
    summary: "Create or update an alert rule",
    description: `Omitted fields keep their values. Of a built-in rule, \`severity\`, \`threshold\`, \`for_seconds\`, \`keep_firing_for_seconds\`, \`enabled\` and the mute can be changed; a custom rule requires \`metric\` and \`threshold\`. ${whose}`,
    access: "manage",
    params: alertRuleParams,
    query: alertRuleQuery,
    body: alertRuleInputSchema,
    answers: {
      200: { description: "Changed.", schema: alertRuleSchema },
      201: { description: "Written.", schema: alertRuleSchema },
    },
    errors: ["limit_reached"],
    audit: {
      action: "alert_rule.put",
      target: "alert_rule",
      idFrom: "name",
      before: (call: RuleCall) => shownBefore(services, call),
    },
    handle: async ({ scope, params: { name }, query, body }) => {
      const target = { tenantId: tenantOf(query), name };
      const input = inputOf(alertRuleFields, body);
      const { rule, created } = await alertsOf(services).putRule(scope, { ...target, input });
      return { status: created ? 201 : 200, body: alertRuleJson(rule) };
    },
  });
}

function deleteRuleRoute(services: Services): Route {
  return defineRoute({
    method: "DELETE",
    path: "/v1/alert-rules/{name}",
    operationId: "deleteAlertRule",
    tag: "Alerts",
    summary: "Delete a custom rule, or reset a built-in one",
    access: "manage",
    params: alertRuleParams,
    query: alertRuleQuery,
    answers: { 204: { description: "Deleted or reset." } },
    errors: ["not_found"],
    audit: {
      action: "alert_rule.delete",
      target: "alert_rule",
      idFrom: "name",
      before: (call: RuleCall) => shownBefore(services, call),
      removes: ["metric", "threshold", "enabled"],
    },
    handle: async ({ scope, params: { name }, query }) => {
      await alertsOf(services).deleteRule(scope, { tenantId: tenantOf(query), name });
      return { status: 204 };
    },
  });
}

function previewRoute(services: Services): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/alert-rules/preview",
    operationId: "previewAlertRule",
    tag: "Alerts",
    summary: "Preview how often a rule would have fired",
    description:
      "Evaluates the rule against the statistics of the last seven days without saving it. The last two days are evaluated per minute, earlier days per hour.",
    access: "manage",
    query: alertRuleQuery,
    body: alertRuleInputSchema,
    answers: {
      200: { description: "How often, for how long, and the values seen.", schema: alertPreviewSchema },
    },
    errors: [],
    audit: { none: "it changes nothing" },
    handle: async ({ scope, query, body }) => {
      const input = inputOf(alertRuleFields, body);
      const preview = await alertsOf(services).preview(scope, tenantOf(query), input);
      return { status: 200, body: alertPreviewJson(preview) };
    },
  });
}

function listRoute(services: Services, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/alerts",
    operationId: "listAlerts",
    tag: "Alerts",
    summary: "List alerts, newest first",
    description:
      "Pending and firing alerts, and those resolved within 90 days. A tenant's key sees the alerts of its tenant.",
    access: "manage",
    query: alertQuerySchema,
    answers: { 200: { description: "A page of alerts.", schema: alertListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const filters = filtersOf(alertFilters, query);
      const listing = { tenantId: scope.tenantId, route: "alerts", filters };
      const page = await alertsOf(services).list(scope, { ...filters, page: pager.request(query, listing) });
      return { status: 200, body: pager.answer(page, listing, alertJson) };
    },
  });
}

function muteRoute(services: Services): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/alerts/{id}/mute",
    operationId: "muteAlert",
    tag: "Alerts",
    summary: "Mute an alert",
    description:
      "Mutes this rule for this webhook, tenant or type, even if the alert resolves and fires again. An alert that still fires when the mute ends is announced then.",
    access: "manage",
    params: closed({ id: idParam("the alert") }),
    body: alertMuteSchema,
    answers: { 200: { description: "The alert.", schema: alertSchema } },
    errors: ["not_found"],
    audit: { action: "alert.mute", target: "alert" },
    handle: async ({ scope, params, body }) => {
      const input = inputOf(alertMuteFields, body);
      return { status: 200, body: alertJson(await alertsOf(services).mute(scope, params.id, input)) };
    },
  });
}

type RuleCall = Call<{ readonly name: string }, { readonly tenant_id?: string }>;

async function shownBefore(services: Services, { scope, params, query }: RuleCall): Promise<object> {
  const rules = await alertsOf(services).rules(scope, tenantOf(query));
  const rule = rules.find(({ name }) => name === params.name);
  return rule === undefined ? {} : alertRuleJson(rule);
}

function tenantOf(query: object): string | null {
  return (query as { readonly tenant_id?: string }).tenant_id ?? null;
}
