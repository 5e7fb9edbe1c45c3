import { forceClose, forceOpen, resetCircuit } from "../../src/core/circuit-breaker.ts";
import { priorities } from "../../src/core/delivery.ts";
import { PosthornError } from "../../src/core/errors.ts";
import type { Webhook } from "../../src/core/webhook.ts";
import type { LiveWebhook } from "../../src/engine/engine-access.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { PublishInput } from "../../src/engine/services.ts";
import { StoreUnavailableError } from "../../src/ports/store.ts";
import type { Store } from "../../src/ports/store.ts";
import type { EngineRun } from "./engine-run.ts";
import type { Invariants } from "./invariants.ts";
import { isWaiting } from "./ledger.ts";
import type { Ledger, LedgerDelivery } from "./ledger.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { draftWebhook, drawBehaviour, eventTypes, rotateSecrets } from "./webhook-draft.ts";

const minuteMs = 60_000;

export interface WorkloadOptions {
  readonly random: SeededRandom;
  readonly tenants: number;
  readonly ledger: Ledger;
  readonly invariants: Invariants;
  readonly now: () => number;
  readonly trace: (line: string) => void;
  readonly fail: (invariant: string, message: string) => void;
  readonly restart: () => void;
  readonly startOutage: (durationMs: number) => void;
}

/** One engine run as the workload uses it. */
export interface Target {
  readonly run: EngineRun;
  readonly engine: Engine;
  readonly store: Store;
}

const actionWeights = {
  publish: 50,
  flood: 2,
  repeatKey: 8,
  retryDeadLetter: 6,
  retryWaiting: 4,
  replay: 4,
  disable: 4,
  enable: 8,
  create: 4,
  remove: 4,
  update: 5,
  circuit: 4,
  rotate: 4,
  limitTenant: 2,
  systemEvent: 2,
  restart: 3,
  outage: 2,
};
export type ActionName = keyof typeof actionWeights;

/**
 * What publishers, owners and operators do, drawn from the seed. It uses the engine as management does: the store
 * first, then the running engine.
 */
export class Workload {
  readonly #options: WorkloadOptions;
  readonly #actions: Readonly<Record<ActionName, (target: Target) => Promise<void>>>;
  #published = 0;

  constructor(options: WorkloadOptions) {
    this.#options = options;
    this.#actions = {
      publish: (target) => this.#publishSome(target, options.random.pick([1, 1, 2, 5, 20])),
      flood: (target) => this.#publishSome(target, options.random.pick([60, 150, 400])),
      repeatKey: (target) => this.#publishSome(target, 2),
      retryDeadLetter: (target) => this.#retry(target, ({ progress }) => progress.state === "exhausted"),
      retryWaiting: (target) => this.#retry(target, isWaiting),
      replay: (target) => this.#replay(target),
      disable: (target) => this.#setStatus(target, "disabled"),
      enable: (target) => this.#setStatus(target, "active"),
      create: (target) => this.create(target),
      remove: (target) => this.#remove(target),
      update: (target) => this.#update(target),
      circuit: (target) => this.#moveCircuit(target),
      rotate: (target) => this.#rotate(target),
      limitTenant: async (target) => this.#limitTenant(target),
      systemEvent: (target) => this.#systemEvent(target),
      restart: async () => options.restart(),
      outage: async () => options.startOutage(options.random.int({ min: 100, max: 3 * minuteMs })),
    };
  }

  /** One action, chosen by the seed. Resolves or never; errors that a user may meet are fine. */
  act(target: Target): void {
    const name = this.#options.random.weighted(actionWeights);
    this.#options.trace(`do ${name}`);
    this.#guard(this.#actions[name](target), name);
  }

  /** Makes everything active and unhindered again, as an attentive owner would. */
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
    const draft = draftWebhook(random, { id: engine.nextId(), tenantId: this.#tenant(), now: now() });
    // Keys first: a webhook without keys must never be found, whatever happens in between.
    await store.webhooks.saveSecrets({ webhookId: draft.webhook.id, secrets: draft.secrets });
    await store.webhooks.save(draft.webhook);
    engine.applyWebhook(draft);
    invariants.configured(run, draft.webhook.id);
  }

  #guard(action: Promise<void>, name: string): void {
    action.catch((error: unknown) => {
      const isExpected =
        error instanceof StoreUnavailableError ||
        (error instanceof PosthornError && error.code !== "internal_error") ||
        (error instanceof Error && error.message === "refused");
      if (!isExpected)
        this.#options.fail("I-21", `${name} failed: ${error instanceof Error ? error.stack : String(error)}`);
    });
  }

  async #publishSome({ engine }: Target, count: number): Promise<void> {
    const { invariants } = this.#options;
    const tenantId = this.#tenant();
    const inputs = Array.from({ length: count }, () => this.#event(count));
    for (const input of inputs) {
      const answered = engine
        .publish({ tenantId }, input)
        .then((receipt) => invariants.published(tenantId, input, receipt));
      this.#guard(answered, "publish");
    }
  }

  #event(count: number): PublishInput {
    const { random } = this.#options;
    this.#published += 1;
    const hasKey = random.chance(0.15);
    const key = hasKey ? `key-${random.int({ min: 1, max: 12 })}` : undefined;
    const padding = random.chance(0.1) && count < 100 ? 3_000 : random.int({ min: 0, max: 60 });
    // Few different payloads for a key, so that both repeats and reuse happen.
    const data =
      key === undefined
        ? { number: this.#published, padding: "x".repeat(padding) }
        : { key, half: random.int({ min: 0, max: 1 }) };
    const input = { eventType: random.pick(eventTypes), data, priority: random.pick(priorities) };
    if (key === undefined) return input;
    return { ...input, eventType: eventTypes[0], priority: "normal", idempotencyKey: key };
  }

  async #retry({ engine }: Target, suits: (delivery: LedgerDelivery) => boolean): Promise<void> {
    const { ledger, random, now } = this.#options;
    const found = [...ledger.deliveries.values()].filter(
      (delivery) => delivery.supersededBy === null && suits(delivery),
    );
    const old = found.length === 0 ? undefined : random.pick(found);
    const live = old === undefined ? undefined : engine.webhook(old.lane.webhookId);
    if (old === undefined || live === undefined) return;
    await engine.requeue({
      eventId: old.event.id,
      supersedes: old.id,
      deliveries: [newDelivery(engine, { old, webhook: live.webhook, origin: "retry", now: now() })],
    });
  }

  async #replay({ engine }: Target): Promise<void> {
    const { ledger, random, now } = this.#options;
    const found = [...ledger.deliveries.values()];
    const live = [...engine.webhooks()];
    if (found.length === 0 || live.length === 0) return;
    const old = random.pick(found);
    const { webhook } = random.pick(live);
    if (webhook.tenantId !== old.event.tenantId) return;
    const delivery = newDelivery(engine, { old, webhook, origin: "replay", now: now() });
    await engine.requeue({ eventId: old.event.id, supersedes: null, deliveries: [delivery] });
  }

  async #setStatus(target: Target, status: "active" | "disabled"): Promise<void> {
    const live = this.#anyWebhook(target.engine, (webhook) => webhook.status !== status);
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
    if (status === "active" && current.webhook.status !== "active") invariants.reenabled(webhook.id);
    engine.applyWebhook({ webhook, secrets: current.secrets });
    invariants.configured(run, webhook.id);
  }

  async #remove({ engine, store }: Target): Promise<void> {
    const busy = new Set([...this.#options.ledger.waiting].map((delivery) => delivery.lane.webhookId));
    const live = this.#anyWebhook(engine, ({ id }) => busy.has(id)) ?? this.#anyWebhook(engine, () => true);
    if (live === undefined || [...engine.webhooks()].length < 2) return;
    await store.webhooks.delete({ id: live.webhook.id, deletedAt: this.#options.now() });
    engine.removeWebhook(live.webhook.id);
  }

  async #update({ engine, store, run }: Target): Promise<void> {
    const { random, now, invariants } = this.#options;
    const live = this.#anyWebhook(engine, () => true);
    if (live === undefined) return;
    const webhook: Webhook = { ...live.webhook, ...drawBehaviour(random), updatedAt: now() };
    await store.webhooks.save(webhook);
    const current = engine.webhook(webhook.id);
    if (current === undefined) return;
    // What the rules decided while this was being stored stays in force.
    const { status, statusReason, statusChangedAt } = current.webhook;
    engine.applyWebhook({
      webhook: { ...webhook, status, statusReason, statusChangedAt },
      secrets: current.secrets,
    });
    invariants.configured(run, webhook.id);
  }

  async #moveCircuit({ engine, run }: Target): Promise<void> {
    const { random, now, invariants } = this.#options;
    const live = this.#anyWebhook(engine, () => true);
    if (live === undefined) return;
    const command = { now: now(), untilMs: now() + random.int({ min: 1, max: 120 }) * minuteMs };
    const action = random.pick(["open", "close", "reset"]);
    if (action === "open") forceOpen(live.circuit, command);
    else if (action === "close") forceClose(live.circuit, command);
    else resetCircuit(live.circuit, command.now);
    await engine.circuitChanged(live.webhook.id);
    invariants.configured(run, live.webhook.id);
  }

  async #rotate({ engine, store }: Target): Promise<void> {
    const { random, now } = this.#options;
    const live = this.#anyWebhook(engine, () => true);
    if (live === undefined) return;
    const overlapMs = random.pick([null, minuteMs, 60 * minuteMs]);
    const { webhook } = live;
    const secrets = rotateSecrets(random, {
      webhookId: webhook.id,
      secrets: live.secrets,
      overlapMs,
      now: now(),
    });
    await store.webhooks.saveSecrets({ webhookId: webhook.id, secrets });
    const current = engine.webhook(webhook.id);
    if (current !== undefined) engine.applyWebhook({ webhook: current.webhook, secrets });
  }

  #limitTenant({ engine }: Target): void {
    const { random, invariants } = this.#options;
    const tenantId = this.#tenant();
    const rateLimit = random.pick([
      null,
      { requestsPerMinute: 60, burst: 3 },
      { requestsPerMinute: 600, burst: 50 },
    ]);
    engine.applyTenantLimit({ tenantId, rateLimit });
    invariants.tenantLimited(tenantId, rateLimit);
  }

  async #systemEvent({ engine }: Target): Promise<void> {
    const live = this.#anyWebhook(engine, () => true);
    const onlyWebhookId = live?.webhook.id ?? null;
    const tenantId = live?.webhook.tenantId ?? this.#tenant();
    await engine.publishSystemEvent({
      tenantId,
      eventType: "posthorn.test",
      data: { test: true },
      onlyWebhookId,
    });
  }

  #tenant(): string {
    return `tenant-${this.#options.random.int({ min: 1, max: this.#options.tenants })}`;
  }

  #anyWebhook(engine: Engine, suits: (webhook: Webhook) => boolean): LiveWebhook | undefined {
    const found = [...engine.webhooks()].filter(({ webhook }) => suits(webhook));
    return found.length === 0 ? undefined : this.#options.random.pick(found);
  }
}

function newDelivery(
  engine: Engine,
  input: {
    readonly old: LedgerDelivery;
    readonly webhook: Webhook;
    readonly origin: "retry" | "replay";
    readonly now: number;
  },
) {
  const { old, webhook, origin, now } = input;
  const state: "pending" | "skipped" = webhook.status === "active" ? "pending" : "skipped";
  return {
    ...{ id: engine.nextId(), priority: old.priority, state, origin, dueAt: now, createdAt: now },
    lane: engine.laneOf(webhook, old.event.eventType),
    claim: false,
    leaseUntil: 0,
  };
}
