import { judgeUrl } from "../../domain/egress/url-policy.ts";
import type { HealthDecision } from "../../domain/endpoint-health.ts";
import { changedAt, type Webhook } from "../../domain/webhook.ts";
import { instant, webhookEvent } from "../../features/notifications/operational-event.ts";
import { withoutAccessToken } from "../credentials/secret-mask.ts";
import type { EngineOptions } from "../engine-options.ts";
import type { Endpoint } from "./endpoint.ts";

type LifecycleOptions = Pick<EngineOptions, "store" | "clock" | "telemetry" | "urlRules">;

/**
 * Stops webhooks automatically: suspends or disables them by the rules of their profile, with a log line and an
 * operational event. Nothing is deleted, and waiting deliveries stay until the webhook is enabled again.
 */
export class WebhookLifecycle {
  readonly #options: LifecycleOptions;
  readonly #apply: (webhook: Webhook) => void;
  readonly #eventsStored: () => void;
  readonly #running = new Set<Promise<void>>();
  /** When each webhook last moved to a new URL. Has as many entries as there are moved webhooks. */
  readonly #movedAt = new Map<string, number>();

  /** `eventsStored` is called when the operational events of a change are stored. */
  constructor(options: LifecycleOptions, apply: (webhook: Webhook) => void, eventsStored: () => void) {
    this.#options = options;
    this.#apply = apply;
    this.#eventsStored = eventsStored;
  }

  decided(endpoint: Endpoint, decision: HealthDecision): void {
    const status = decision.kind === "suspend" ? "suspended" : "disabled";
    this.#change(endpoint, status, decision.reason);
  }

  suspensionElapsed(endpoint: Endpoint): void {
    this.#change(endpoint, "disabled", endpoint.webhook.statusReason ?? "suspended");
  }

  /**
   * Follows a 308 to the new URL of a receiver, if owner and receiver agreed on that (EDS-9.2.4-3). The new URL is
   * validated like a registered one, and must have the same host or a subdomain: a response must not be able to
   * redirect all later events to a third party. A webhook with credentials must also keep its origin, because the
   * credentials were issued for it. A response to a request from before the last URL change is ignored.
   *
   * A webhook moves at most once an hour. A webhook that is redirected back and forth and subscribes to operational
   * events would otherwise cause an event with each move.
   */
  movedPermanently(endpoint: Endpoint, from: string, location: string): void {
    const before = endpoint.webhook;
    const moved = URL.parse(location, from)?.href ?? "";
    // The receiver repeats the query of the request, including the token. The token is removed, because it is added
    // again to each request.
    const target = before.bearerTokenIn === "query" ? withoutAccessToken(moved) : moved;
    if (before.url !== from || target === from || !this.#mayMove(before.id)) return;
    const judgement = judgeUrl(target, this.#options.urlRules);
    const accepted =
      judgement.kind === "ok" &&
      isSameOwner(judgement.hostname, before.url) &&
      (!showsCredentials(endpoint) || isSameOrigin(judgement.url, before.url));
    const { log } = this.#options.telemetry;
    const { id, tenantId } = before;
    if (!accepted) {
      log.warn({ webhookId: id, tenantId }, "ignored a permanent redirect: its target is not allowed");
      return;
    }
    log.warn({ webhookId: id, tenantId }, "the URL of a webhook was changed by a permanent redirect");
    const updatedAt = changedAt(before.updatedAt, this.#options.clock.now());
    const webhook = { ...before, url: judgement.url, updatedAt };
    this.#rememberMove(id);
    this.#apply(webhook);
    this.#track(
      this.#storeAndTell(endpoint, webhook, ({ revision }) => ({
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

  #change(endpoint: Endpoint, status: "suspended" | "disabled", reason: string): void {
    const before = endpoint.webhook;
    if (before.status === "disabled" || before.status === status) return;
    const now = this.#options.clock.now();
    const webhook: Webhook = {
      ...before,
      status,
      statusReason: reason,
      statusChangedAt: now,
      updatedAt: changedAt(before.updatedAt, now),
    };
    // Applied immediately, so that nothing more is sent while the change is being stored.
    this.#apply(webhook);
    const { id, tenantId } = webhook;
    this.#options.telemetry.log.warn(
      { webhookId: id, tenantId, status, reason },
      "webhook stopped by the rules of its profile",
    );
    const type = status === "suspended" ? "posthorn.webhook.suspended" : "posthorn.webhook.disabled";
    const data = { status, reason, since: instant(now) };
    this.#track(this.#storeAndTell(endpoint, webhook, () => ({ type, of: now, at: now, data })));
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  async #storeAndTell(
    endpoint: Endpoint,
    webhook: Webhook,
    newsOf: (saved: Webhook) => Parameters<typeof webhookEvent>[1],
  ): Promise<void> {
    const { store, telemetry } = this.#options;
    try {
      const events = (saved: Webhook) => [webhookEvent(saved, newsOf(saved))];
      const { revision } = await store.webhooks.save(webhook, { events });
      // Skipped if the webhook changed again in the meantime.
      if (endpoint.webhook.updatedAt === webhook.updatedAt) this.#apply({ ...webhook, revision });
      this.#eventsStored();
    } catch (error) {
      telemetry.log.error(
        { err: String(error), webhookId: webhook.id },
        "storing the change of a webhook failed",
      );
    }
  }
}

const moveIntervalMs = 3_600_000;
/** Limits memory use. If an entry is dropped, one more move is allowed. */
const movesMax = 10_000;

/** Whether requests to the endpoint contain tokens or secret headers. */
function showsCredentials({ config }: Endpoint): boolean {
  return config.oauth2 !== null || config.shownSecrets.length > 0;
}

function isSameOrigin(url: string, before: string): boolean {
  return new URL(url).origin === new URL(before).origin;
}

/** Whether the host is the same as before, or a subdomain of it. */
function isSameOwner(hostname: string, before: string): boolean {
  const known = new URL(before).hostname;
  return hostname === known || hostname.endsWith(`.${known}`);
}
