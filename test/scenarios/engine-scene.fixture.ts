/** An engine for a whole test file. Each test has a separate tenant and receiver. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach } from "node:test";
import type { AttemptRecord } from "../../src/domain/delivery.ts";
import type { Webhook } from "../../src/domain/webhook.ts";
import type { PublishInput } from "../../src/features/services.ts";
import type { StoredDelivery } from "../../src/ports/store/history.ts";
import type { SecretKind } from "../../src/ports/store/webhooks.ts";
import { type Reaction, type Receiver, startReceiver } from "../peers/receiver.ts";
import { type EngineWorld, openEngineWorld } from "./engine-world.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { listDeliveries } from "../listed-deliveries.ts";

/** Called once per file, outside the tests. */
export function engineScene(): EngineScene {
  const scene = new EngineScene();
  before(async () => {
    scene.world = await openEngineWorld();
  });
  beforeEach(() => scene.renewReceiver());
  afterEach(() => scene.receiver.close());
  after(() => scene.world.close());
  return scene;
}

class EngineScene {
  #world: EngineWorld | null = null;
  #receiver: Receiver | null = null;

  get world(): EngineWorld {
    assert.ok(this.#world !== null);
    return this.#world;
  }

  set world(world: EngineWorld) {
    this.#world = world;
  }

  get receiver(): Receiver {
    assert.ok(this.#receiver !== null);
    return this.#receiver;
  }

  /** The tenant that belongs to the current receiver, so that events reach only the webhooks of one test. */
  get tenantId(): string {
    return `t${this.receiver.port}`;
  }

  async renewReceiver(): Promise<void> {
    this.#receiver = await startReceiver();
  }

  /**
   * By default, the webhook is at `/hook`, subscribes to `order.*`, uses the draft's profile, and retries twice after
   * short delays.
   */
  addWebhook(
    given: Partial<Webhook> = {},
    secrets: Partial<Record<SecretKind, string>> = {},
  ): Promise<Webhook> {
    const webhook = {
      url: this.receiver.url("/hook"),
      events: ["order.*"],
      tenantId: this.tenantId,
      profile: "event-delivery",
      schemes: null,
      retry: retrySchedule(20, 20),
      ...given,
    } as const;
    return this.world.addWebhook(webhook, secrets);
  }

  /**
   * Sets the reactions of `/hook` to successive requests. The last one is repeated. `/told` receives system events and
   * responds with 200.
   */
  react(...reactions: readonly Reaction[]): void {
    let count = 0;
    this.receiver.script(({ path }) =>
      path === "/told" ? {} : (reactions[Math.min(count++, reactions.length - 1)] ?? {}),
    );
  }

  /** Publishes an `order.created` event and returns its ID. */
  publish(input: Partial<PublishInput> = {}): Promise<string> {
    return this.world.publish(this.tenantId, { eventType: "order.created", data: { n: 1 }, ...input });
  }

  /** The newest delivery of an event. */
  async deliveryOf(eventId: string): Promise<StoredDelivery> {
    const { rows } = await listDeliveries(this.world.store.history, { tenantId: this.tenantId, eventId });
    assert.ok(rows[0] !== undefined);
    return rows[0];
  }

  /** The delivery of an event after it has ended, with its attempts. */
  async ended(eventId: string): Promise<{
    readonly delivery: StoredDelivery;
    readonly attempts: readonly AttemptRecord[];
  }> {
    const delivery = await eventually("the delivery ends", {
      ask: () => this.deliveryOf(eventId),
      holds: ({ progress }) => progress.state === "success" || progress.state === "exhausted",
    });
    return { delivery, attempts: await this.world.store.history.listAttempts(delivery.id) };
  }
}

/** A schedule that retries after exactly these delays. */
export function retrySchedule(...delaysMs: readonly number[]): Webhook["retry"] {
  return {
    schedule: { kind: "list", delaysMs, jitter: { from: 1, to: 1 } },
    ageMsMax: null,
    timeoutMs: null,
    timeoutGrowthFactor: null,
  };
}
