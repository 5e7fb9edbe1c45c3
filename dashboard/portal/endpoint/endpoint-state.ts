/**
 * The endpoints of the session. Their states are described by one word, and by sentences that say what happens next.
 */
import { useApi } from "../../shared/queries.ts";
import type { Page, Webhook, WebhookHealth } from "../../shared/resources.ts";
import type { Tone } from "../../shared/ui/tone.ts";
import { counted, known, moment, t } from "../shell/language.ts";
import { may } from "../shell/session.ts";

interface State {
  readonly tone: Tone;
  readonly text: string;
}

export function isFailing({ health }: Pick<Webhook, "health">): boolean {
  return health === "failing" || health === "circuit_open";
}

/** Health states of the server in customers' terms, which do not mention circuits. */
const states = {
  healthy: { tone: "good", key: "state.ok" },
  failing: { tone: "wait", key: "state.failing" },
  circuit_open: { tone: "wait", key: "state.failing" },
  paused: { tone: "held", key: "state.paused" },
  disabled: { tone: "off", key: "state.off" },
  suspended: { tone: "bad", key: "state.suspended" },
  unverified: { tone: "wait", key: "state.unverified" },
} as const satisfies Readonly<Record<Webhook["health"], { readonly tone: Tone; readonly key: string }>>;

export function stateOf(webhook: Webhook): State {
  const { health, last_success_at: acceptedAt } = webhook;
  if (health === "healthy" && acceptedAt === null) return { tone: "new", text: t("state.new") };
  const { tone, key } = states[health];
  return { tone, text: t(key) };
}

/** Sentences that describe the problem. Null if the endpoint has no problem. */
export function whatIsWrong(
  webhook: Webhook,
  given: {
    readonly health: WebhookHealth | null;
    /** Why the last attempt failed. */
    readonly reason: string;
    readonly waiting: number;
    readonly nextAt: string | null;
  },
): readonly string[] | null {
  const { health, reason, waiting, nextAt } = given;
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
    reason,
    ...(waiting > 0 ? [counted("wrong.waiting", waiting)] : []),
    ...(next === null ? [] : [t("wrong.next", { at: moment(next) })]),
    ...(ends === null ? [] : [t("wrong.disables", { at: moment(ends) })]),
  ];
}

/** Why an attempt was not accepted, derived from the status of the response or the category of the failure. */
export function reasonOf(status: number | null | undefined, category: string | null | undefined): string {
  if (typeof status === "number") {
    const key = `reason.http.${status}`;
    return known(key) ? t(key) : t("reason.http", { status: String(status) });
  }
  const key = `reason.${category ?? "unknown"}`;
  return known(key) ? t(key) : t("reason.unknown");
}

/** Endpoints for a selection field, loaded once. Empty if the session may not read endpoints. */
export function useEndpoints(): readonly Webhook[] {
  const loaded = useApi<Page<Webhook>>(
    may("endpoints:read") ? { path: "v1/webhooks", query: { limit: 250 } } : null,
    { everyMs: false },
  );
  return loaded.data?.data ?? [];
}
