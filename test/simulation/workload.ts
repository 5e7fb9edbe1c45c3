import { priorities } from "../../src/domain/delivery.ts";
import { PosthornError } from "../../src/domain/errors.ts";
import type { Webhook } from "../../src/domain/webhook.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { PublishInput } from "../../src/features/services.ts";
import { StoreUnavailableError } from "../../src/ports/store.ts";
import type { Invariants } from "./invariants.ts";
import { isWaiting, type Ledger, type LedgerDelivery } from "./ledger.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { type Target, WebhookActions } from "./webhook-actions.ts";
import { eventTypes } from "./webhook-draft.ts";

const minuteMs = 60_000;
/** Longer than every lease. The next constant is longer than the maximum age of every profile. */
const longestLeaseMs = 10 * minuteMs;
const longestAgeMs = 6 * 1_440 * minuteMs;

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
  /** Sets the wall clock forward or back. */
  readonly jump: (byMs: number) => void;
}

const actionWeights = {
  publish: 50,
  flood: 2,
  repeatKey: 8,
  retryDeadLetter: 6,
  retryWaiting: 4,
  retryCancelled: 2,
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
 * Actions of publishers, owners and operators, drawn from the seed. They use the engine as management does: first the
 * store, then the running engine.
 */
export class Workload {
  readonly #options: WorkloadOptions;
  readonly #actions: Readonly<Record<ActionName, (target: Target) => Promise<void>>>;
  readonly webhooks: WebhookActions;
  #published = 0;

  constructor(options: WorkloadOptions) {
    this.#options = options;
    this.webhooks = new WebhookActions({ ...options, tenant: () => this.#tenant() });
    this.#actions = {
      publish: (target) => this.#publishSome(target, options.random.pick([1, 1, 2, 5, 20])),
      flood: (target) => this.#publishSome(target, options.random.pick([60, 150, 400])),
      repeatKey: (target) => this.#publishSome(target, 2),
      retryDeadLetter: (target) => this.#retry(target, ({ progress }) => progress.state === "exhausted"),
      retryCancelled: (target) => this.#retry(target, ({ progress }) => progress.state === "cancelled"),
      retryWaiting: (target) => this.#retry(target, isWaiting),
      replay: (target) => this.#replay(target),
      disable: (target) => this.webhooks.setStatus(target, "disabled"),
      enable: (target) => this.webhooks.setStatus(target, "active"),
      create: (target) => this.webhooks.create(target),
      remove: (target) => this.webhooks.remove(target),
      update: (target) => this.webhooks.update(target),
      circuit: (target) => this.webhooks.moveCircuit(target),
      rotate: (target) => this.webhooks.rotate(target),
      limitTenant: async (target) => this.#limitTenant(target),
      systemEvent: (target) => this.#systemEvent(target),
      restart: async () => options.restart(),
      outage: async () => options.startOutage(options.random.int({ min: 100, max: 3 * minuteMs })),
    };
  }

  /**
   * Starts one action, which the seed determines. The action may fail with errors that users can also get, and may
   * never complete.
   */
  act(target: Target): void {
    const name = this.#options.random.weighted(actionWeights);
    this.#options.trace(`do ${name}`);
    this.#guard(this.#actions[name](target), name);
  }

  /** Ends a delivery in flight: its webhook is deleted, or its lease expires and it is then retried or too old. */
  endUnderWay(target: Target): void {
    const { random, trace } = this.#options;
    if (target.engine.activity().inFlight === 0) return;
    const how = random.pick(["remove", "retry", "expire"] as const);
    trace(`do ${how} under way`);
    const actions = {
      remove: () => this.webhooks.remove(target),
      retry: () => this.#retryUnderWay(target),
      expire: () => this.#expireUnderWay(target),
    };
    this.#guard(actions[how](), `${how} under way`);
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
      const answered = engine.publisher
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
    // Few different payloads per key, so that both repeats and conflicts occur.
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
    const found = [...ledger.deliveries.values()].filter(suits);
    const old = found.length === 0 ? undefined : random.pick(found);
    const live = old === undefined ? undefined : engine.webhook(old.lane.webhookId);
    if (old === undefined || live === undefined) return;
    const place = engine.placeOf(live.webhook, old.event.eventType);
    const retry = { at: now(), by: null, operationId: null };
    await engine.retry({ deliveryId: old.id, ...place, priority: null, retry });
  }

  /** Lets all leases expire at once, and retries a delivery in flight manually. */
  async #retryUnderWay(target: Target): Promise<void> {
    this.#options.jump(longestLeaseMs);
    await this.#retry(target, (delivery) => isWaiting(delivery) && delivery.lease !== null);
  }

  /** Lets all leases expire. Upkeep then ends the deliveries in flight, because they are too old. */
  async #expireUnderWay(target: Target): Promise<void> {
    this.#options.jump(longestAgeMs);
    await target.engine.upkeepRound();
  }

  async #replay({ engine }: Target): Promise<void> {
    const { ledger, random, now } = this.#options;
    const found = [...ledger.deliveries.values()];
    const live = [...engine.webhooks()];
    if (found.length === 0 || live.length === 0) return;
    const old = random.pick(found);
    const { webhook } = random.pick(live);
    if (webhook.tenantId !== old.event.tenantId) return;
    const delivery = newDelivery(engine, { old, webhook, now: now() });
    await engine.requeue({ eventId: old.event.id, deliveries: [delivery] });
  }

  #limitTenant({ engine }: Target): void {
    const { random, invariants } = this.#options;
    const tenantId = this.#tenant();
    const rateLimit = random.pick([
      null,
      { requestsPerMinute: 60, burst: 3 },
      { requestsPerMinute: 600, burst: 50 },
    ]);
    engine.applyTenantLimit(tenantId, rateLimit);
    invariants.tenantLimited(tenantId, rateLimit);
  }

  async #systemEvent({ engine }: Target): Promise<void> {
    const live = this.webhooks.any(engine, () => true);
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
}

function newDelivery(
  engine: Engine,
  input: {
    readonly old: LedgerDelivery;
    readonly webhook: Webhook;
    readonly now: number;
  },
) {
  const { old, webhook, now } = input;
  const { status } = webhook;
  const fate =
    status === "active"
      ? ({ state: "pending", reason: null } as const)
      : ({ state: "skipped", reason: `webhook_${status}` } as const);
  return {
    ...fate,
    id: engine.nextId(),
    priority: old.priority,
    dueAt: now,
    createdAt: now,
    ...engine.placeOf(webhook, old.event.eventType),
    origin: "replay" as const,
    replayOf: old.id,
    operationId: null,
    claim: false,
    leaseUntil: 0,
  };
}
