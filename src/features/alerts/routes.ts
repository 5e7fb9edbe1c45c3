import { NotFoundError } from "../../domain/errors.ts";
import type { ApiOptions } from "../../http/context.ts";
import { filtersOf, inputOf, jsonOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { PlainRoutes } from "../../http/plain-routes.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import {
  alertFilters,
  alertListSchema,
  alertMuteFields,
  alertMuteSchema,
  alertPreviewSchema,
  alertQuerySchema,
  alertRuleFields,
  alertRuleListSchema,
  alertRuleQuery,
  alertRuleResource,
  alertRuleSchema,
  alertSchema,
} from "../../resources/alert.ts";
import { closed, idParam } from "../../resources/schema.ts";
import type { AlertPreview } from "./alert-preview.ts";
import type { AlertView } from "./alert-service.ts";
import type { AlertRule } from "./alert.ts";
import { defaultAlertRules } from "./default-rules.ts";

const runbookOf = (page: string | null): string | null => (page === null ? null : `docs/runbooks/${page}.md`);
const seconds = (ms: number): number => Math.round(ms / 1_000);

function alertRuleJson(rule: AlertRule): Record<string, unknown> {
  return jsonOf(alertRuleSchema, {
    ...rule,
    windowSeconds: seconds(rule.windowMs),
    forSeconds: seconds(rule.forMs),
    keepFiringForSeconds: seconds(rule.keepFiringForMs),
    runbook: runbookOf(rule.runbook),
  });
}

export function alertJson({ alert, mutedUntil, muteReason }: AlertView): Record<string, unknown> {
  const known =
    alert.ruleTenantId === null ? defaultAlertRules.find(({ name }) => name === alert.rule) : undefined;
  const runbook = runbookOf(known?.runbook ?? null);
  return jsonOf(alertSchema, { ...alert, toldAt: alert.firedToldAt, mutedUntil, muteReason, runbook });
}

function alertPreviewJson(preview: AlertPreview): Record<string, unknown> {
  const points = preview.points.map(({ at, value, isFiring }) => ({
    at,
    value: value === null ? null : Number(value.toPrecision(6)),
    firing: isFiring,
  }));
  return jsonOf(alertPreviewSchema, { ...preview, firingSeconds: seconds(preview.firingMs), points });
}

// Alert rules and the alerts they raise.

type Services = ApiOptions["services"];

export function alertRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  const { services } = options;
  const rules = new PlainRoutes(
    alertRuleResource,
    async (scope, name, tenantId) => {
      const known = await services.alerts.rules(scope, tenantId);
      const rule = known.find((one) => one.name === name);
      if (rule === undefined) throw new NotFoundError("the rule");
      return rule;
    },
    alertRuleJson,
  );
  return [
    listRulesRoute(services),
    rules.put(
      {
        access: "manage",
        description: `Omitted fields keep their values. Of a built-in rule, \`severity\`, \`threshold\`, \`for_seconds\`, \`keep_firing_for_seconds\`, \`enabled\` and the mute can be changed; a custom rule requires \`metric\` and \`threshold\`. ${whose}`,
        answer: "Written.",
        errors: ["limit_reached"],
      },
      async (scope, name, input, tenantId) => {
        const { rule, created } = await services.alerts.putRule(scope, { tenantId, name, input });
        return { row: rule, created };
      },
    ),
    rules.delete(
      {
        access: "manage",
        summary: "Delete a custom rule, or reset a built-in one",
        answer: "Deleted or reset.",
      },
      (scope, name, tenantId) => services.alerts.deleteRule(scope, { tenantId, name }),
      ["metric", "threshold", "enabled"],
    ),
    previewRoute(services),
    listRoute(services, pager),
    muteRoute(services),
  ];
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
      const rules = await services.alerts.rules(scope, tenantOf(query));
      return { status: 200, body: { data: rules.map(alertRuleJson) } };
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
    body: alertRuleResource.schemas.create,
    answers: {
      200: { description: "How often, for how long, and the values seen.", schema: alertPreviewSchema },
    },
    errors: [],
    audit: { none: "it changes nothing" },
    handle: async ({ scope, query, body }) => {
      const input = inputOf(alertRuleFields, body);
      const preview = await services.alerts.preview(scope, tenantOf(query), input);
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
      const page = await services.alerts.list(scope, { ...filters, page: pager.request(query, listing) });
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
      return { status: 200, body: alertJson(await services.alerts.mute(scope, params.id, input)) };
    },
  });
}

function tenantOf(query: object): string | null {
  return (query as { readonly tenant_id?: string }).tenant_id ?? null;
}
