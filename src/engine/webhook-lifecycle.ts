import type { HealthDecision } from "../core/endpoint-health.ts";
import type { Webhook, WebhookStatus } from "../core/webhook.ts";
import type { Clock } from "../ports/clock.ts";
import type { WebhookStore } from "../ports/store/webhooks.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Endpoint } from "./endpoint.ts";

export interface LifecycleOptions {
  readonly store: WebhookStore;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly apply: (webhook: Webhook) => void;
  readonly announce: (event: {
    readonly tenantId: string;
    readonly eventType: string;
    readonly data: Readonly<Record<string, unknown>>;
  }) => Promise<void>;
}

/**
 * Webhooks that stop by themselves: suspended or disabled by the rules of their profile (C-6, C-7, C-15), with a log
 * line and a system event that says so. Nothing is deleted, and what waits goes on waiting until somebody re-enables.
 */
export class WebhookLifecycle {
  readonly #options: LifecycleOptions;
  readonly #running = new Set<Promise<void>>();

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

  /** Waits for changes that are being stored. */
  async stop(): Promise<void> {
    await Promise.allSettled([...this.#running]);
  }

  #change(endpoint: Endpoint, to: { readonly status: WebhookStatus; readonly reason: string }): void {
    const before = endpoint.webhook;
    if (before.status === "disabled" || before.status === to.status) return;
    const now = this.#options.clock.now();
    const webhook: Webhook = {
      ...before,
      status: to.status,
      statusReason: to.reason,
      statusChangedAt: now,
      updatedAt: now,
    };
    // In force at once: nothing more is sent while the change is being stored.
    this.#options.apply(webhook);
    const work = this.#store(webhook).finally(() => this.#running.delete(work));
    this.#running.add(work);
  }

  async #store(webhook: Webhook): Promise<void> {
    const { store, telemetry, announce } = this.#options;
    const { id, tenantId, status, statusReason } = webhook;
    telemetry.log.warn(
      { webhookId: id, tenantId, status, reason: statusReason },
      "webhook stopped by the rules of its profile",
    );
    try {
      await store.save(webhook);
      await announce({
        tenantId,
        eventType: `posthorn.webhook.${status}`,
        data: {
          webhook_id: id,
          status,
          reason: statusReason,
          since: new Date(webhook.statusChangedAt).toISOString(),
        },
      });
    } catch (error) {
      telemetry.log.error({ err: String(error), webhookId: id }, "the change of status could not be stored");
    }
  }
}
