import { judgeUrl, type UrlRules } from "../../core/egress/url-policy.ts";
import type { HealthDecision } from "../../core/endpoint-health.ts";
import { instant, webhookEvent } from "../../core/notifications/operational-event.ts";
import { changedAt, type Webhook } from "../../core/webhook.ts";
import type { Clock } from "../../ports/clock.ts";
import type { WebhookStore } from "../../ports/store/webhooks.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { withoutAccessToken } from "../credentials/secret-mask.ts";
import type { Endpoint } from "./endpoint.ts";

export interface LifecycleOptions {
  readonly store: WebhookStore;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly urlRules: UrlRules;
  readonly apply: (webhook: Webhook) => void;
  /** What was told along with a change is stored. */
  readonly told: () => void;
}

/** A 308 that a request to `from` was answered with; `location` as it was received, relative to `from`. */
export interface PermanentRedirect {
  readonly from: string;
  readonly location: string;
}

/**
 * Webhooks that stop by themselves: suspended or disabled by the rules of their profile (C-6, C-7, C-15), with a log
 * line and a system event that says so. Nothing is deleted, and what waits goes on waiting until somebody re-enables.
 */
export class WebhookLifecycle {
  readonly #options: LifecycleOptions;
  readonly #running = new Set<Promise<void>>();
  /** When a webhook last moved; as many as there are webhooks that do. */
  readonly #movedAt = new Map<string, number>();

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  decided(endpoint: Endpoint, decision: HealthDecision): void {
    const status = decision.kind === "suspend" ? "suspended" : "disabled";
    this.#change(endpoint, { status, reason: decision.reason });
  }

  suspensionElapsed(endpoint: Endpoint): void {
    this.#change(endpoint, { status: "disabled", reason: endpoint.webhook.statusReason ?? "suspended" });
  }

  /**
   * A 308 said where the receiver is now, and owner and receiver agreed that this counts (EDS-9.2.4-3). The new URL is
   * judged like one that is registered, and stays with the old host or below it: an answer must not be able to hand all
   * later events to somebody else (C-9). A webhook that shows credentials stays at its origin, for which they were given.
   * The answer to a request that left before the last change says nothing new.
   *
   * A webhook moves once an hour at most: one that is sent back and forth, and gets the news about it as events, would
   * otherwise make more of them with each.
   */
  movedPermanently(endpoint: Endpoint, { from, location }: PermanentRedirect): void {
    const before = endpoint.webhook;
    const moved = URL.parse(location, from)?.href ?? "";
    // The receiver repeats the query it was asked with, and the token in it is put there anew each time.
    const target = before.bearerTokenIn === "query" ? withoutAccessToken(moved) : moved;
    if (before.url !== from || target === from || !this.#mayMove(before.id)) return;
    const judgement = judgeUrl(target, this.#options.urlRules);
    const accepted =
      judgement.kind === "ok" &&
      isSameOwner(judgement.hostname, { before: before.url }) &&
      (!showsCredentials(endpoint) || isSameOrigin(judgement.url, { before: before.url }));
    const { log } = this.#options.telemetry;
    const { id, tenantId } = before;
    if (!accepted) {
      log.warn(
        { webhookId: id, tenantId },
        "a permanent redirect was not taken over: its target is not acceptable",
      );
      return;
    }
    log.warn({ webhookId: id, tenantId }, "the URL of a webhook was changed by a permanent redirect");
    const updatedAt = changedAt(before, this.#options.clock.now());
    const webhook = { ...before, url: judgement.url, updatedAt };
    this.#rememberMove(id);
    this.#options.apply(webhook);
    this.#track(
      this.#storeAndTell({ endpoint, webhook }, ({ revision }) => ({
        type: "posthorn.webhook.moved",
        of: revision,
        at: updatedAt,
        data: { from: before.url, to: judgement.url },
      })),
    );
  }

  #mayMove(webhookId: string): boolean {
    const last = this.#movedAt.get(webhookId);
    return last === undefined || Math.abs(this.#options.clock.now() - last) >= moveIntervalMs;
  }

  #rememberMove(webhookId: string): void {
    if (this.#movedAt.size >= movesMax) this.#movedAt.clear();
    this.#movedAt.set(webhookId, this.#options.clock.now());
  }

  /** Waits for changes that are being stored. */
  async stop(): Promise<void> {
    await Promise.allSettled([...this.#running]);
  }

  #change(
    endpoint: Endpoint,
    to: { readonly status: "suspended" | "disabled"; readonly reason: string },
  ): void {
    const before = endpoint.webhook;
    if (before.status === "disabled" || before.status === to.status) return;
    const now = this.#options.clock.now();
    const webhook: Webhook = {
      ...before,
      status: to.status,
      statusReason: to.reason,
      statusChangedAt: now,
      updatedAt: changedAt(before, now),
    };
    // In force at once: nothing more is sent while the change is being stored.
    this.#options.apply(webhook);
    const { id, tenantId, status, statusReason: reason } = webhook;
    this.#options.telemetry.log.warn(
      { webhookId: id, tenantId, status, reason },
      "webhook stopped by the rules of its profile",
    );
    const type = to.status === "suspended" ? "posthorn.webhook.suspended" : "posthorn.webhook.disabled";
    const data = { status, reason, since: instant(now) };
    this.#track(this.#storeAndTell({ endpoint, webhook }, () => ({ type, of: now, at: now, data })));
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  async #storeAndTell(
    { endpoint, webhook }: { readonly endpoint: Endpoint; readonly webhook: Webhook },
    newsOf: (saved: Webhook) => Parameters<typeof webhookEvent>[1],
  ): Promise<void> {
    const { store, telemetry, told } = this.#options;
    try {
      const events = (saved: Webhook) => [webhookEvent(saved, newsOf(saved))];
      const { revision } = await store.save(webhook, { events });
      // Unless it has changed again meanwhile.
      if (endpoint.webhook.updatedAt === webhook.updatedAt) this.#options.apply({ ...webhook, revision });
      told();
    } catch (error) {
      telemetry.log.error(
        { err: String(error), webhookId: webhook.id },
        "the change of a webhook could not be stored",
      );
    }
  }
}

const moveIntervalMs = 3_600_000;
/** Bounds the memory of moves; forgetting only means to follow once more. */
const movesMax = 10_000;

/** Tokens or secret headers go out with its requests. */
function showsCredentials({ config }: Endpoint): boolean {
  return config.oauth2 !== null || config.shownSecrets.length > 0;
}

function isSameOrigin(url: string, known: { readonly before: string }): boolean {
  return new URL(url).origin === new URL(known.before).origin;
}

/** The same host, or one below it. */
function isSameOwner(hostname: string, url: { readonly before: string }): boolean {
  const known = new URL(url.before).hostname;
  return hostname === known || hostname.endsWith(`.${known}`);
}
