import assert from "node:assert/strict";
import type { AsyncCommand } from "fast-check";
import { type DeliveryState, type Priority, priorities } from "../../../src/domain/delivery.ts";
import type { LaneKey } from "../../../src/domain/webhook.ts";
import type { Store } from "../../../src/ports/store.ts";
import type { Lease } from "../../../src/ports/store/deliveries.ts";
import type { ModelDelivery, StoreModel } from "./model-state.fixture.ts";
import { claim, commit, progressed, publishCommand, retryCommand, settlement } from "./scene.fixture.ts";
import type { OpenStore } from "./store.suite.ts";

export interface RealStore {
  store: Store;
  readonly open: OpenStore;
}

type Command = AsyncCommand<StoreModel, RealStore>;
type LanePlan = Pick<LaneKey, "webhookId" | "ordering">;

export interface DeliveryPlan {
  readonly lane: LanePlan;
  readonly priority: Priority;
  readonly claim: boolean;
  readonly skipped: boolean;
  readonly dueInMs: number;
  readonly leaseMs: number;
}

export interface SettlementPlan {
  readonly pick: number;
  readonly state: DeliveryState;
  readonly dueInMs: number;
}

export interface CommitPlan {
  readonly events: readonly (readonly DeliveryPlan[])[];
  readonly settlements: readonly SettlementPlan[];
}

/** Publishes and settles in one transaction. Some of the leases may be void. */
export class CommitCommand implements Command {
  readonly #plan: CommitPlan;

  constructor(plan: CommitPlan) {
    this.#plan = plan;
  }

  check(): boolean {
    return true;
  }

  async run(model: StoreModel, real: RealStore): Promise<void> {
    const publishes = this.#plan.events.map((event) =>
      publishCommand({
        event: { createdAt: model.now },
        deliveries: event.map((plan) => ({
          lane: model.lane(plan.lane),
          priority: plan.priority,
          claim: plan.claim,
          state: plan.skipped ? "skipped" : "pending",
          dueAt: model.now + plan.dueInMs,
          leaseUntil: model.now + plan.leaseMs,
        })),
      }),
    );
    const grants = model.grantsOf(
      publishes.flatMap(({ deliveries }) => deliveries),
      { shared: real.open.openAnother !== undefined },
    );
    const picked = model.tokens.length === 0 ? [] : this.#plan.settlements;
    const settlements = picked.map((plan) => ({ plan, held: pickFrom(model.tokens, plan.pick) }));
    const result = await commit(real.store, {
      publishes,
      settlements: settlements.map(({ plan, held }) =>
        settlement(held.token, {
          progress: progressed({ state: plan.state, dueAt: model.now + plan.dueInMs }),
        }),
      ),
    });
    const expected = settlements.map(({ plan, held }) => settleModel(model, held, plan));
    assert.deepEqual(
      result.settled.map(({ kind }) => kind === "written"),
      expected,
    );
    for (const [index, command] of publishes.entries()) {
      const accepted = result.publishes[index];
      assert.ok(accepted?.kind === "accepted");
      for (const [place, delivery] of command.deliveries.entries()) {
        const token: Lease | undefined = accepted.leases[place];
        assert.ok(token !== undefined);
        const leased = grants.has(delivery.id);
        assert.equal(token.leaseToken > 0, leased);
        const { id, lane, priority, state, dueAt } = delivery;
        const lease = leased ? { token, until: delivery.leaseUntil } : null;
        const stored: ModelDelivery = { id, lane, priority, state, dueAt, lease };
        model.deliveries.push(stored);
        if (leased) model.tokens.push({ delivery: stored, token });
      }
    }
    await compareDepth(model, real);
  }

  toString(): string {
    return `commit(${JSON.stringify(this.#plan)})`;
  }
}

export interface ClaimPlan {
  readonly lane: LanePlan;
  readonly limit: number;
  readonly leaseMs: number;
}

export class ClaimCommand implements Command {
  readonly #plan: ClaimPlan;

  constructor(plan: ClaimPlan) {
    this.#plan = plan;
  }

  check(): boolean {
    return true;
  }

  async run(model: StoreModel, real: RealStore): Promise<void> {
    const key = model.lane(this.#plan.lane);
    const { limit } = this.#plan;
    const leaseUntil = model.now + this.#plan.leaseMs;
    const result = await claim(real.store, key, { now: model.now, limit, leaseUntil });
    const ordered = key.ordering !== "none";
    const free = model.freeIn(key);
    const claimable = ordered ? free : free.filter(({ dueAt }) => dueAt <= model.now);
    const expected = claimable.slice(0, limit);
    const claimed = result.deliveries.map(({ id }) => claimable.find((each) => each.id === id));
    assert.deepEqual(claimed.map(placeOf), expected.map(placeOf));
    if (ordered) assert.deepEqual(claimed, expected);
    const left = ordered ? claimable.slice(limit, limit + 1) : claimable.slice(limit);
    const later = ordered
      ? left.filter(({ dueAt }) => dueAt > model.now)
      : free.filter(({ dueAt }) => dueAt > model.now);
    assert.equal(result.nextDueAt, later.length === 0 ? null : Math.min(...later.map(({ dueAt }) => dueAt)));
    for (const priority of priorities) {
      assert.equal(
        result.more[priority],
        left.some((each) => each.priority === priority),
        priority,
      );
    }
    for (const [index, { lease, progress }] of result.deliveries.entries()) {
      const delivery = claimed[index];
      assert.ok(delivery !== undefined);
      assert.equal(progress.state, delivery.state);
      delivery.lease = { token: lease, until: leaseUntil };
      model.tokens.push({ delivery, token: lease });
    }
  }

  toString(): string {
    return `claim(${JSON.stringify(this.#plan)})`;
  }
}

export class ReleaseCommand implements Command {
  readonly #picks: readonly number[];

  constructor(picks: readonly number[]) {
    this.#picks = picks;
  }

  check(model: Readonly<StoreModel>): boolean {
    return model.tokens.length > 0;
  }

  async run(model: StoreModel, real: RealStore): Promise<void> {
    const picked = this.#picks.map((pick) => pickFrom(model.tokens, pick));
    await real.store.deliveries.release(picked.map(({ token }) => token));
    for (const { delivery, token } of picked) {
      if (delivery.lease?.token.leaseToken === token.leaseToken) delivery.lease = null;
    }
  }

  toString(): string {
    return `release(${this.#picks.join()})`;
  }
}

export interface RetryPlan {
  readonly pick: number;
  readonly lane: LanePlan;
}

/** Retries any delivery manually, including ones that must not be retried. */
export class RetriesCommand implements Command {
  readonly #plans: readonly RetryPlan[];

  constructor(plans: readonly RetryPlan[]) {
    this.#plans = plans;
  }

  check(model: Readonly<StoreModel>): boolean {
    return model.deliveries.length > 0;
  }

  async run(model: StoreModel, real: RealStore): Promise<void> {
    const picked = this.#plans.map(({ pick, lane }) => {
      const delivery = pickFrom(model.deliveries, pick);
      // A delivery always belongs to the same webhook, but the webhook's ordering may have changed.
      const webhookId = delivery.lane.webhookId.replace(/-[^-]*$/, "");
      return { delivery, lane: model.lane({ webhookId, ordering: lane.ordering }) };
    });
    const { retries } = await commit(real.store, {
      retries: picked.map(({ delivery, lane }) => retryCommand(delivery.id, { lane, at: model.now })),
    });
    for (const [index, { delivery, lane }] of picked.entries()) {
      const kind = retries[index]?.kind;
      const isHeld = delivery.lease !== null && delivery.lease.until > model.now;
      const isWaiting = delivery.state === "pending" || delivery.state === "failed";
      if (delivery.state === "success") assert.equal(kind, "not_possible");
      else if (isWaiting && isHeld) assert.equal(kind, "in_flight");
      else {
        assert.equal(kind, "accepted");
        model.retry(delivery, lane);
      }
    }
    await compareDepth(model, real);
  }

  toString(): string {
    return `retry(${JSON.stringify(this.#plans)})`;
  }
}

export class PassTimeCommand implements Command {
  readonly #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  check(): boolean {
    return true;
  }

  async run(model: StoreModel): Promise<void> {
    model.now += this.#ms;
  }

  toString(): string {
    return `pass(${this.#ms} ms)`;
  }
}

/** Advances time until every lease has expired. Adapters may therefore keep leases across a restart or drop them. */
export class RestartCommand implements Command {
  check(): boolean {
    return true;
  }

  async run(model: StoreModel, real: RealStore): Promise<void> {
    real.store = await real.open.reopen();
    model.now += 100;
    for (const delivery of model.deliveries) delivery.lease = null;
    model.tokens.length = 0;
    await compareDepth(model, real);
  }

  toString(): string {
    return "restart";
  }
}

function settleModel(
  model: StoreModel,
  held: { readonly delivery: ModelDelivery; readonly token: { readonly leaseToken: number } },
  plan: SettlementPlan,
): boolean {
  const { delivery, token } = held;
  if (delivery.lease?.token.leaseToken !== token.leaseToken) return false;
  delivery.lease = null;
  delivery.state = plan.state;
  delivery.dueAt = model.now + plan.dueInMs;
  return true;
}

async function compareDepth(model: StoreModel, real: RealStore): Promise<void> {
  const { waiting } = await real.store.deliveries.depth();
  for (const priority of priorities) {
    assert.equal(waiting[priority] - model.depthBefore.waiting[priority], model.waiting(priority), priority);
  }
}

/** Deliveries with the same priority and due time may be returned in any order, so only these fields are compared. */
function placeOf(delivery: ModelDelivery | undefined): string {
  return delivery === undefined ? "not claimable" : `${delivery.priority} ${delivery.dueAt}`;
}

function pickFrom<Item>(items: readonly Item[], pick: number): Item {
  const item = items[pick % items.length];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}
