import {
  alertMetrics,
  type AlertRule,
  changeableOfDefaults,
  isOfInstallation,
} from "../../core/alerts/alert-rule.ts";
import { defaultAlertRules } from "../../core/alerts/default-rules.ts";
import type { AlertRuleInput } from "../../core/fields/alert.ts";
import type { AlertRuleName, StoredAlertRule } from "../../ports/store/alerts.ts";
import type { ProblemList } from "../problem-list.ts";

/** Sources of built-in rules about tenants, which tenants can see. */
const aboutTenants: ReadonlySet<string> = new Set([
  "circuit",
  "dead_letters",
  "success_rate",
  "dns",
  "silent_publisher",
]);

/** Defaults of a custom rule. */
const blank: Omit<AlertRule, "name" | "tenantId" | "title" | "audience"> = {
  isDefault: false,
  description: "",
  severity: "warning",
  source: "metric",
  metric: null,
  comparison: "above",
  threshold: 0,
  windowMs: 300_000,
  forMs: 0,
  keepFiringForMs: 60_000,
  attemptsMin: 1,
  webhookId: null,
  eventType: null,
  enabled: true,
  mutedUntil: null,
  muteReason: null,
  runbook: null,
};

/** All rules in force, built-in rules first. */
export function allRules(stored: readonly StoredAlertRule[]): readonly AlertRule[] {
  const changes = new Map(stored.filter(isOperators).map((rule) => [rule.name, rule.input]));
  const defaults = defaultAlertRules.map((rule) => ({ ...rule, ...given(changes.get(rule.name) ?? {}) }));
  return [...defaults, ...stored.filter((rule) => defaultOf(rule) === undefined).map(customRule)];
}

/** The visible rules: for an administrator those of the operator or of the given tenant, for a tenant its own. */
export function visibleRules(rules: readonly AlertRule[], tenantId: string | null): readonly AlertRule[] {
  if (tenantId === null) return rules.filter((rule) => rule.tenantId === null);
  return rules.filter((rule) =>
    rule.isDefault ? aboutTenants.has(rule.source) : rule.tenantId === tenantId,
  );
}

function isOperators({ tenantId }: AlertRuleName): boolean {
  return tenantId === null;
}

/** The built-in rule with this name. */
export function defaultOf({ tenantId, name }: AlertRuleName): AlertRule | undefined {
  return tenantId === null ? defaultAlertRules.find((rule) => rule.name === name) : undefined;
}

export function customRule({
  tenantId,
  name,
  input,
}: Pick<StoredAlertRule, "tenantId" | "name" | "input">): AlertRule {
  return {
    ...blank,
    name,
    tenantId,
    title: name,
    audience: tenantId === null ? "operator" : "tenant",
    ...given(input),
  };
}

/** Converts the input to the units of a rule. */
function given(input: AlertRuleInput): Partial<AlertRule> {
  const { windowSeconds, forSeconds, keepFiringForSeconds, ...same } = input;
  const said = {
    ...same,
    ...(windowSeconds !== undefined && { windowMs: windowSeconds * 1_000 }),
    ...(forSeconds !== undefined && { forMs: forSeconds * 1_000 }),
    ...(keepFiringForSeconds !== undefined && { keepFiringForMs: keepFiringForSeconds * 1_000 }),
  };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
}

/** Validates the fields of a rule together. */
export function judgeRule(
  rule: AlertRuleName & { readonly input: AlertRuleInput },
  problems: ProblemList,
): void {
  const { input, tenantId } = rule;
  if (defaultOf(rule) !== undefined) {
    const changeable: ReadonlySet<string> = new Set(changeableOfDefaults);
    for (const name of Object.keys(given(input)))
      if (!changeable.has(name))
        problems.add({
          field: apiNames[name] ?? name,
          message: "cannot be changed for a built-in rule",
        });
    return;
  }
  const { metric, webhookId = null, eventType = null } = input;
  if (metric === undefined)
    return problems.add({ field: "metric", message: `is required; one of ${alertMetrics.join(", ")}` });
  if (input.threshold === undefined) problems.add({ field: "threshold", message: "is required" });
  if (isOfInstallation(metric) && tenantId !== null)
    problems.add({
      field: "metric",
      message: `${metric} applies to the whole deployment and cannot be limited to a tenant`,
    });
  const countsDeliveries = metric !== "published" && !isOfInstallation(metric);
  if (webhookId !== null && !countsDeliveries)
    problems.contradiction(["webhook_id", "metric"], "can be combined only for metrics of deliveries");
  if (eventType !== null && metric !== "published")
    problems.contradiction(["event_type", "metric"], "can be combined only for published");
  if (eventType !== null && tenantId === null)
    problems.add({ field: "event_type", message: "requires the tenant_id of the type" });
}

const apiNames: Readonly<Record<string, string>> = {
  windowMs: "window_seconds",
  attemptsMin: "attempts_min",
  webhookId: "webhook_id",
  eventType: "event_type",
};
