/** How an endpoint is doing, as one word and as a sentence that says what is wrong and what happens next. */
import type { Webhook, WebhookHealth } from "../../shared/resources.ts";
import type { Tone } from "../../shared/ui/tone.ts";
import { counted, known, moment, t } from "../language.ts";

interface State {
  readonly tone: Tone;
  readonly text: string;
}

export function isFailing(webhook: Webhook): boolean {
  const { last_failure_at: failed, last_success_at: accepted } = webhook;
  return failed !== null && (accepted === null || failed > accepted);
}

export function stateOf(webhook: Webhook): State {
  if (webhook.status === "unverified") return { tone: "wait", text: t("state.unverified") };
  if (webhook.status === "disabled" || webhook.status === "suspended")
    return { tone: "off", text: t("state.off") };
  if (webhook.pause !== null) return { tone: "held", text: t("state.paused") };
  if (isFailing(webhook)) return { tone: "bad", text: t("state.failing") };
  if (webhook.last_success_at === null) return { tone: "new", text: t("state.new") };
  return { tone: "good", text: t("state.ok") };
}

export interface LastAnswer {
  readonly status: number | null;
  readonly category: string | null;
}

/** Null where nothing is wrong. */
export function whatIsWrong(
  webhook: Webhook,
  given: {
    readonly health: WebhookHealth | null;
    readonly last: LastAnswer | null;
    readonly waiting: number;
    readonly nextAt: string | null;
  },
): readonly string[] | null {
  const { health, last, waiting, nextAt } = given;
  if (webhook.status === "unverified") return [t("wrong.unverified")];
  if (webhook.status !== "active") {
    const key = `wrong.off.${webhook.status_reason ?? "owner"}`;
    return [known(key) ? t(key) : t("wrong.off"), t("wrong.off.next")];
  }
  if (webhook.pause !== null) {
    const { until } = webhook.pause;
    return [until === null ? t("wrong.paused") : t("wrong.paused.until", { until: moment(until) })];
  }
  if (!isFailing(webhook)) return null;
  const ends = health?.disables_at ?? null;
  const next = nextAt ?? health?.circuit_breaker.next_half_open_at ?? health?.paused_until ?? null;
  return [
    reasonOf(last),
    ...(waiting > 0 ? [counted("wrong.waiting", waiting)] : []),
    ...(next === null ? [] : [t("wrong.next", { at: moment(next) })]),
    ...(ends === null ? [] : [t("wrong.disables", { at: moment(ends) })]),
  ];
}

/** Why an attempt was not accepted. */
export function reasonOf(last: LastAnswer | null): string {
  if (last === null) return t("reason.unknown");
  if (last.status !== null) {
    const key = `reason.http.${last.status}`;
    if (known(key)) return t(key);
    return t("reason.http", { status: String(last.status) });
  }
  const key = `reason.${last.category ?? "unknown"}`;
  return known(key) ? t(key) : t("reason.unknown");
}
