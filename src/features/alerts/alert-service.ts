import { InvalidRequestError, NotFoundError, PosthornError } from "../../domain/errors.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Page, PageRequest } from "../../ports/store.ts";
import type { AlertRuleName, AlertStore, StoredAlertRule } from "../../ports/store/alerts.ts";
import type { StatisticsStore } from "../../ports/store/statistics.ts";
import {
  alertMuteFields,
  type AlertMuteInput,
  alertRuleFields,
  type AlertRuleInput,
  alertRuleNameField,
} from "../../resources/alert.ts";
import { judgeField } from "../../resources/field.ts";
import { ProblemList, readFields } from "../input.ts";
import { requireWebhook, resolveTenant, tenantFilter } from "../visibility.ts";
import type { Scope } from "../services.ts";
import type { TenantDirectory } from "../tenants/tenant-service.ts";
import { type AlertPreview, previewOf } from "./alert-preview.ts";
import {
  alertKey,
  alertMetrics,
  type AlertMute,
  type AlertRecord,
  type AlertRule,
  type AlertState,
  changeableOfDefaults,
  isOfInstallation,
} from "./alert.ts";
import { allRules, builtInRule, customRule, inUnitsOfRule, mutedUntil } from "./default-rules.ts";

/** Sources of built-in rules about tenants, which tenants can see. */
const aboutTenants: ReadonlySet<string> = new Set([
  "circuit",
  "dead_letters",
  "success_rate",
  "dns",
  "silent_publisher",
]);

/**
 * The visible rules. An administrator sees the operator's rules or those of the given tenant; a tenant sees its own.
 */
function visibleRules(rules: readonly AlertRule[], tenantId: string | null): readonly AlertRule[] {
  if (tenantId === null) return rules.filter((rule) => rule.tenantId === null);
  return rules.filter((rule) =>
    rule.isDefault ? aboutTenants.has(rule.source) : rule.tenantId === tenantId,
  );
}

/** Validates the fields of a rule together. */
function judgeRule(rule: AlertRuleName & { readonly input: AlertRuleInput }, problems: ProblemList): void {
  const { input, tenantId } = rule;
  if (builtInRule(rule) !== undefined) {
    const changeable: ReadonlySet<string> = new Set(changeableOfDefaults);
    for (const name of Object.keys(inUnitsOfRule(input)))
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
    problems.contradiction(["webhook_id", "metric"], "can be combined only if the metric counts deliveries");
  if (eventType !== null && metric !== "published")
    problems.contradiction(["event_type", "metric"], "can be combined only if the metric is published");
  if (eventType !== null && tenantId === null)
    problems.add({ field: "event_type", message: "requires the tenant_id of the type" });
}

const apiNames: Readonly<Record<string, string>> = {
  windowMs: "window_seconds",
  attemptsMin: "attempts_min",
  webhookId: "webhook_id",
  eventType: "event_type",
};

interface AlertsOptions {
  readonly store: AlertStore;
  readonly statistics: StatisticsStore;
  readonly isCounting: boolean;
  readonly access: Pick<EngineAccess, "webhook">;
  readonly tenants: Pick<TenantDirectory, "has">;
  readonly clock: Clock;
}

/** A null `tenantId` selects the operator's rules for an administrator, and the tenant's own rules for a tenant. */
interface AlertRuleTarget {
  readonly tenantId: string | null;
  readonly name: string;
}

interface AlertListQuery {
  readonly states: readonly AlertState[] | null;
  readonly rule: string | null;
  readonly tenantId: string | null;
  readonly page: PageRequest;
}

/** An alert with its mute. */
export interface AlertView {
  readonly alert: AlertRecord;
  readonly mutedUntil: number | null;
  readonly muteReason: string | null;
}

const rulesMax = 200;

/** Manages rules, alerts and mutes on behalf of people. */
export class Alerts {
  readonly #options: AlertsOptions;

  constructor(options: AlertsOptions) {
    this.#options = options;
  }

  async rules(scope: Scope, tenantId: string | null): Promise<readonly AlertRule[]> {
    const owner = tenantFilter(scope, tenantId);
    return visibleRules(allRules(await this.#options.store.rules()), owner);
  }

  async putRule(
    scope: Scope,
    target: AlertRuleTarget & { readonly input: AlertRuleInput },
  ): Promise<{ readonly rule: AlertRule; readonly created: boolean }> {
    const { store, clock } = this.#options;
    const owner = this.#ownerOf(scope, target.tenantId);
    const stored = await store.rules();
    const before = stored.find((rule) => rule.name === target.name && rule.tenantId === owner);
    const input = { ...before?.input, ...target.input };
    const { name, tenantId, input: judged } = this.#judge(scope, { ...target, input });
    if (before === undefined && stored.filter((rule) => rule.tenantId === tenantId).length >= rulesMax)
      throw new PosthornError("limit_reached", `the limit of ${rulesMax} rules is reached`);
    const now = clock.now();
    const rule: StoredAlertRule = {
      name,
      tenantId,
      input: judged,
      createdAt: before?.createdAt ?? now,
      updatedAt: now,
    };
    await store.saveRule(rule, scope.audit?.take({ id: name, tenantId }));
    const saved = allRules([...stored.filter((each) => each !== before), rule]).find(
      (each) => each.name === name && each.tenantId === tenantId,
    );
    if (saved === undefined) throw new NotFoundError("the rule");
    return { rule: saved, created: before === undefined && !saved.isDefault };
  }

  /** Resets a built-in rule to its default. */
  async deleteRule(scope: Scope, target: AlertRuleTarget): Promise<void> {
    const tenantId = this.#ownerOf(scope, target.tenantId);
    const rule = { tenantId, name: target.name };
    const audit = scope.audit?.take({ id: target.name, tenantId });
    if (await this.#options.store.deleteRule(rule, audit)) return;
    if (builtInRule(rule) === undefined) throw new NotFoundError("the rule");
  }

  async preview(scope: Scope, tenantId: string | null, input: AlertRuleInput): Promise<AlertPreview> {
    const { statistics, isCounting, clock } = this.#options;
    const judged = this.#judge(scope, { tenantId, input, name: "preview" });
    if (!isCounting)
      throw new InvalidRequestError(
        "statistics are disabled (POSTHORN_STATS), so the rule cannot be evaluated",
        [],
      );
    return previewOf(customRule(judged), statistics, clock.now());
  }

  async list(scope: Scope, query: AlertListQuery): Promise<Page<AlertView>> {
    const { store } = this.#options;
    const { rule, page } = query;
    const tenantId = tenantFilter(scope, query.tenantId);
    const { rows, next } = await store.list({ tenantId, rule, page, states: query.states ?? [] });
    return { rows: await this.#views(rows), next };
  }

  async get(scope: Scope, id: string): Promise<AlertView> {
    const [view] = await this.#views([await this.#require(scope, id)]);
    if (view === undefined) throw new NotFoundError("the alert");
    return view;
  }

  /** Mutes this rule for this subject, even if the alert resolves and fires again. */
  async mute(scope: Scope, id: string, input: AlertMuteInput): Promise<AlertView> {
    const alert = await this.#require(scope, id);
    const problems = new ProblemList();
    const { until, reason = null } = readFields(alertMuteFields, input, problems, "create");
    problems.throwIfAny("the mute");
    const mute: AlertMute = { key: alertKey(alert), until, reason };
    await this.#options.store.saveMute(mute, scope.audit?.take({ id: alert.id, tenantId: alert.tenantId }));
    return this.get(scope, alert.id);
  }

  async #require(scope: Scope, id: string): Promise<AlertRecord> {
    const alert = await this.#options.store.get(scope.tenantId, id);
    if (alert === null) throw new NotFoundError("the alert");
    return alert;
  }

  async #views(alerts: readonly AlertRecord[]): Promise<readonly AlertView[]> {
    if (alerts.length === 0) return [];
    const { store, clock } = this.#options;
    const [stored, mutes] = await Promise.all([store.rules(), store.mutes()]);
    const muting = { rules: allRules(stored), mutes, now: clock.now() };
    return alerts.map((alert) => {
      const until = mutedUntil(alert, muting);
      const own = mutes.find(({ key }) => key === alertKey(alert));
      const rule = muting.rules.find(
        ({ name, tenantId }) => name === alert.rule && tenantId === alert.ruleTenantId,
      );
      const reason = own?.until === until ? own?.reason : rule?.muteReason;
      return { alert, mutedUntil: until, muteReason: until === null ? null : (reason ?? null) };
    });
  }

  #judge(
    scope: Scope,
    target: AlertRuleTarget & { readonly input: AlertRuleInput },
  ): AlertRuleTarget & { readonly input: AlertRuleInput } {
    const tenantId = this.#ownerOf(scope, target.tenantId);
    const { name } = target;
    const problems = new ProblemList();
    for (const problem of judgeField(alertRuleNameField, "name", name)) problems.add(problem);
    const input = readFields(alertRuleFields, target.input, problems);
    const judged = { tenantId, name, input };
    judgeRule(judged, problems);
    problems.throwIfAny("the rule");
    const { webhookId = null } = input;
    if (webhookId !== null) {
      const { webhook } = requireWebhook(this.#options.access, scope, webhookId);
      if (tenantId !== null && webhook.tenantId !== tenantId) throw new NotFoundError("the webhook");
    }
    return judged;
  }

  /** The owner of the rules; null for the operator. */
  #ownerOf(scope: Scope, tenantId: string | null): string | null {
    if (scope.tenantId === null && tenantId === null) return null;
    return resolveTenant(this.#options.tenants, scope, tenantId);
  }
}
