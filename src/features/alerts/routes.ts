import { NotFoundError } from "../../domain/errors.ts";
import type { ApiOptions } from "../../http/context.ts";
import { inputOf, jsonOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { PlainRoutes } from "../../http/plain-routes.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import {
  alertFilters,
  alertMuteFields,
  alertMuteSchema,
  alertPreviewSchema,
  alertResource,
  alertRuleFields,
  alertRuleListSchema,
  alertRuleQuery,
  alertRuleResource,
  alertRuleSchema,
  alertSchema,
} from "../../resources/alert.ts";
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
  const alerts = new PlainRoutes(alertResource, (scope, id) => services.alerts.get(scope, id), alertJson);
  return [
    defineRoute({
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
    }),
    rules.put(
      {
        access: "manage",
        description: `Omitted fields keep their values. For a built-in rule, only \`severity\`, \`threshold\`, \`for_seconds\`, \`keep_firing_for_seconds\`, \`enabled\` and the mute can be changed; a custom rule requires \`metric\` and \`threshold\`. ${whose}`,
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
    defineRoute({
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
        200: {
          description: "How often the rule would have fired, for how long, and the values of its metric.",
          schema: alertPreviewSchema,
        },
      },
      errors: [],
      audit: { none: "it changes nothing" },
      handle: async ({ scope, query, body }) => {
        const input = inputOf(alertRuleFields, body);
        const preview = await services.alerts.preview(scope, tenantOf(query), input);
        return { status: 200, body: alertPreviewJson(preview) };
      },
    }),
    alerts.pages(
      {
        access: "manage",
        summary: "List alerts, newest first",
        description:
          "Pending and firing alerts, and those resolved within 90 days. A tenant's key lists only the alerts of its tenant.",
      },
      alertFilters,
      async (scope, filters, query, listing) => {
        const page = pager.request(query, listing);
        return pager.answer(await services.alerts.list(scope, { ...filters, page }), listing, alertJson);
      },
    ),
    alerts.action(
      "mute",
      {
        summary: "Mute an alert",
        description:
          "Mutes this rule for this webhook, tenant or type, even if the alert resolves and fires again. If the alert is still firing when the mute ends, notifications are sent.",
        takes: alertMuteFields,
        body: alertMuteSchema,
        answer: "The alert.",
        audit: { action: "alert.mute", target: "alert" },
      },
      async (scope, id, input) => alertJson(await services.alerts.mute(scope, id, input)),
    ),
  ];
}

const whose =
  "A tenant's key accesses the rules of its tenant; an administrator accesses those of the operator, or those of `tenant_id`.";

function tenantOf(query: object): string | null {
  return (query as { readonly tenant_id?: string }).tenant_id ?? null;
}
