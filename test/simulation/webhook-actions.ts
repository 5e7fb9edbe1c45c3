import { forceClose, forceOpen, resetCircuit } from "../../src/domain/circuit-breaker.ts";
import type { Webhook } from "../../src/domain/webhook.ts";
import type { LiveWebhook } from "../../src/engine/endpoint/endpoint-config.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { Store } from "../../src/ports/store.ts";
import type { EngineRun } from "./engine-run.ts";
import type { Invariants } from "./invariants.ts";
import type { Ledger } from "./ledger.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { draftWebhook, drawBehaviour, drawUrl, rotateSecrets } from "./webhook-draft.ts";

const minuteMs = 60_000;

/** One run of the engine, and the functions that users can call. */
export interface Target {
  readonly run: EngineRun;
  readonly engine: Engine;
  readonly store: Store;
}

export interface WebhookActionsOptions {
  readonly random: SeededRandom;
  readonly ledger: Ledger;
  readonly invariants: Invariants;
  readonly now: () => number;
  readonly tenant: () => string;
}

/**
 * Changes that owners make to their webhooks. They are applied as management does: first in the store, then in the
 * running engine.
 */
export class WebhookActions {
  readonly #options: WebhookActionsOptions;

  constructor(options: WebhookActionsOptions) {
    this.#options = options;
  }

  /** Activates all webhooks and removes all obstacles, like an attentive owner. */
  async heal({ engine, store, run }: Target): Promise<void> {
    for (const live of [...engine.webhooks()]) {
      if (live.circuit.phase === "open") {
        resetCircuit(live.circuit, this.#options.now());
        await engine.circuitChanged(live.webhook.id);
      }
      const isMutedForLong = (live.pausedUntil ?? 0) > this.#options.now() + 30 * minuteMs;
      if (isMutedForLong) await this.#saveStatus({ engine, store, run }, { live, status: "disabled" });
      const now = engine.webhook(live.webhook.id);
      if (now !== undefined && now.webhook.status !== "active") {
        await this.#saveStatus({ engine, store, run }, { live: now, status: "active" });
      }
    }
  }

  async create({ engine, store, run }: Target): Promise<void> {
    const { random, now, invariants } = this.#options;
    const draft = draftWebhook(random, { id: engine.nextId(), tenantId: this.#options.tenant(), now: now() });
    // The keys are stored with the webhook, so that a webhook without keys is never visible.
    const { secrets } = draft;
    const webhook = await store.webhooks.save(draft.webhook, { secrets });
    engine.applyWebhook({ webhook, secrets });
    invariants.configured(run, draft.webhook.id);
  }

  async setStatus(target: Target, status: "active" | "disabled"): Promise<void> {
    const live = this.any(target.engine, (webhook) => webhook.status !== status);
    if (live !== undefined) await this.#saveStatus(target, { live, status });
  }

  async #saveStatus(
    { engine, store, run }: Target,
    change: { readonly live: LiveWebhook; readonly status: "active" | "disabled" },
  ): Promise<void> {
    const { invariants, now } = this.#options;
    const { status } = change;
    const statusReason = status === "active" ? null : "owner";
    const at = now();
    const webhook: Webhook = {
      ...change.live.webhook,
      status,
      statusReason,
      statusChangedAt: at,
      updatedAt: at,
    };
    await store.webhooks.save(webhook);
    const current = engine.webhook(webhook.id);
    if (current === undefined) return;
    if (status === "active" && current.webhook.status !== "active") invariants.begunAnew(webhook.id);
    engine.applyWebhook({ webhook, secrets: current.secrets });
    invariants.configured(run, webhook.id);
  }

  async remove({ engine, store }: Target): Promise<void> {
    const busy = new Set([...this.#options.ledger.waiting].map((delivery) => delivery.lane.webhookId));
    const live =
      this.any(engine, ({ id }) => (engine.webhook(id)?.inFlight ?? 0) > 0) ??
      this.any(engine, ({ id }) => busy.has(id)) ??
      this.any(engine, () => true);
    if (live === undefined || [...engine.webhooks()].length < 2) return;
    await store.webhooks.delete(live.webhook.id, this.#options.now());
    engine.removeWebhook(live.webhook.id);
    await engine.cancelWaiting(live.webhook.id);
  }

  async update({ engine, store, run }: Target): Promise<void> {
    const { random, now, invariants } = this.#options;
    const live = this.any(engine, () => true);
    if (live === undefined) return;
    const { id } = live.webhook;
    const url = drawUrl(random, { id, now: now() });
    const webhook: Webhook = { ...live.webhook, ...drawBehaviour(random), url, updatedAt: now() };
    await store.webhooks.save(webhook);
    const current = engine.webhook(webhook.id);
    if (current === undefined) return;
    // Keeps decisions that the engine made during the write.
    const { status, statusReason, statusChangedAt } = current.webhook;
    if (current.webhook.url !== webhook.url) invariants.begunAnew(webhook.id);
    engine.applyWebhook({
      webhook: { ...webhook, status, statusReason, statusChangedAt },
      secrets: current.secrets,
    });
    invariants.configured(run, webhook.id);
  }

  async moveCircuit({ engine, run }: Target): Promise<void> {
    const { random, now, invariants } = this.#options;
    const live = this.any(engine, () => true);
    if (live === undefined) return;
    const command = { now: now(), untilMs: now() + random.int({ min: 1, max: 120 }) * minuteMs };
    const action = random.pick(["open", "close", "reset"]);
    if (action === "open") forceOpen(live.circuit, command);
    else if (action === "close") forceClose(live.circuit, command);
    else resetCircuit(live.circuit, command.now);
    await engine.circuitChanged(live.webhook.id);
    invariants.configured(run, live.webhook.id);
  }

  async rotate({ engine, store }: Target): Promise<void> {
    const { random, now } = this.#options;
    const live = this.any(engine, () => true);
    if (live === undefined) return;
    const overlapMs = random.pick([null, minuteMs, 60 * minuteMs]);
    const { webhook } = live;
    const secrets = rotateSecrets(random, {
      webhookId: webhook.id,
      secrets: live.secrets,
      overlapMs,
      now: now(),
    });
    const saved = await store.webhooks.save(webhook, { secrets });
    if (engine.webhook(webhook.id) !== undefined) engine.applyWebhook({ webhook: saved, secrets });
  }

  any(engine: Engine, suits: (webhook: Webhook) => boolean): LiveWebhook | undefined {
    const found = [...engine.webhooks()].filter(({ webhook }) => suits(webhook));
    return found.length === 0 ? undefined : this.#options.random.pick(found);
  }
}
