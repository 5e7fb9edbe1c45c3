/**
 * Several engines in virtual time. Each has its own store, and all of them share an in-memory state. Any coordination
 * between them is therefore caused by the shared state. Calls to it take a moment, as they would over a network.
 */
import { createAddressPolicy } from "../../../src/domain/egress/address-policy.ts";
import type { RateLimitConfig } from "../../../src/domain/profile.ts";
import { webhookAt } from "../../../src/domain/webhook.fixture.ts";
import type { Webhook } from "../../../src/domain/webhook.ts";
import { Engine } from "../../../src/engine/engine.ts";
import type { DeliveryView } from "../../../src/features/services.ts";
import type { SharedState } from "../../../src/ports/shared-state.ts";
import type { Store } from "../../../src/ports/store.ts";
import { noResponseFields, type Transport } from "../../../src/ports/transport.ts";
import { SharedMemory } from "../../conformance/shared-state/in-process-shared-state.fixture.ts";
import { engineLimits, retention } from "../../services/engine-parts.fixture.ts";
import { microtasksDone, ProcessClock, VirtualTime } from "../../simulation/fake-clock.ts";
import { createModelStore } from "../../simulation/model-store.ts";
import { RecordedTelemetry } from "../../simulation/recorded-telemetry.ts";
import { SeededRandom } from "../../simulation/seeded-random.ts";
import { stubSecretBox } from "../../simulation/stub-secret-box.ts";
import { listDeliveries } from "../../listed-deliveries.ts";

/** A request that an engine sent. */
interface Sent {
  readonly engine: number;
  readonly webhookId: string;
  /** Counted since startup. */
  readonly atMs: number;
}

/** A call to the shared state: the name of the function and the number of entries. */
interface Call {
  readonly name: string;
  readonly entries: number;
}

export class SeveralEngines {
  readonly time = new VirtualTime(Date.UTC(2026, 2, 15, 9));
  readonly memory = new SharedMemory({ now: () => this.time.now() });
  readonly engines: Engine[] = [];
  readonly sent: Sent[] = [];
  readonly calls: Call[] = [];
  readonly limited = new Map<string, number>();
  /** Response time of the receivers of an engine's webhooks. */
  answerMs: (engine: number) => number = () => 5;
  readonly #stores: Store[] = [];
  readonly #random: SeededRandom;
  #webhooks = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(`several engines ${seed}`);
  }

  /** With `shares: false`, the engines share nothing. */
  static async start(options: {
    readonly seed: number;
    readonly engines: number;
    readonly shares?: boolean;
  }): Promise<SeveralEngines> {
    const several = new SeveralEngines(options.seed);
    for (let index = 0; index < options.engines; index += 1) several.#add(index, options.shares ?? true);
    await several.until(Promise.all(several.engines.map((engine) => engine.start())));
    return several;
  }

  /** Adds a webhook to one engine, which starts to serve it. */
  addWebhook(engine: number, given: Partial<Webhook>): string {
    this.#webhooks += 1;
    const now = this.time.now();
    const id = `webhook-${this.#webhooks}`;
    const url = `https://receiver.example/${id}`;
    const webhook = webhookAt(now, { schemes: ["v1"], ...given, id, url });
    const key = `${webhook.id}\nwhsec_${Buffer.alloc(32, 7).toString("base64")}`;
    const dates = { createdAt: now, expiresAt: null };
    const secret = { kind: "symmetric" as const, ciphertext: Buffer.from(key), digest: "", ...dates };
    // The model store has saved the webhook when this call returns.
    void this.#stores[engine]?.webhooks.save(webhook);
    this.engines[engine]?.applyWebhook({ webhook, secrets: [secret] });
    return webhook.id;
  }

  /** Publishes this many events on one engine, for those of its webhooks that subscribe to the event type. */
  async publish(
    engine: number,
    events: { readonly eventType: string; readonly count: number },
  ): Promise<void> {
    const { eventType, count } = events;
    const inputs = Array.from({ length: count }, (_, n) => ({ eventType, data: { n } }));
    await this.until(
      this.engines[engine]?.publisher.publishMany({ tenantId: "default" }, inputs) ?? Promise.resolve([]),
    );
  }

  /** Sets the same limit on all engines, as if all of them had received a change. */
  limit(rateLimit: RateLimitConfig): void {
    for (const engine of this.engines) engine.applyTenantLimit("default", rateLimit);
  }

  /** A waiting delivery of a webhook, as the API shows it. */
  async waiting(engine: number, webhookId: string): Promise<DeliveryView | null> {
    const store = this.#stores[engine];
    if (store === undefined) return null;
    const { rows } = await listDeliveries(store.history, { webhookIds: [webhookId], states: ["pending"] });
    const delivery = rows[0];
    return delivery === undefined ? null : (this.engines[engine]?.explain(delivery) ?? null);
  }

  /** Advances virtual time. */
  async pass(ms: number): Promise<void> {
    await this.#run({ untilMs: this.time.monotonicMs() + ms, isDone: () => false });
  }

  /** Advances virtual time until `work` completes. */
  async until<Result>(work: Promise<Result>): Promise<Result> {
    let isDone = false;
    const mark = (): void => void (isDone = true);
    work.then(mark, mark);
    await this.#run({ untilMs: this.time.monotonicMs() + 60_000, isDone: () => isDone });
    return work;
  }

  async stop(): Promise<void> {
    await this.until(Promise.all(this.engines.map((engine) => engine.stop(1_000))));
  }

  async #run(end: { readonly untilMs: number; readonly isDone: () => boolean }): Promise<void> {
    for (;;) {
      await microtasksDone();
      if (end.isDone()) return;
      if (this.time.runDeferred()) {
        this.time.runTimer(this.time.monotonicMs());
        continue;
      }
      if (!this.time.runTimer(end.untilMs)) return;
    }
  }

  #add(index: number, shares: boolean): void {
    const random = this.#random.fork(`engine ${index}`);
    const state = this.#delayed(this.memory.open(), random.fork("network"));
    const store = createModelStore();
    this.#stores.push(store);
    const { telemetry } = new RecordedTelemetry(() => undefined);
    const rateLimited = (webhookId: string): void => {
      this.limited.set(webhookId, (this.limited.get(webhookId) ?? 0) + 1);
    };
    this.engines.push(
      new Engine({
        store,
        transport: this.#transport(index),
        ...(shares && { sharedState: state }),
        secretBox: stubSecretBox,
        clock: new ProcessClock(this.time),
        random,
        telemetry: { log: telemetry.log, metrics: { ...telemetry.metrics, rateLimited } },
        limits: engineLimits,
        retention,
        delivers: true,
        countsStatistics: false,
        userAgent: "posthorn-test",
        requestOrigin: "posthorn.test",
        urlRules: { policy: createAddressPolicy([], false), allowHttp: false },
        tenantExists: () => true,
        schemas: { prepare: () => null, problems: () => [] },
      }),
    );
  }

  #transport(engine: number): Transport {
    return {
      send: ({ path }) => {
        this.sent.push({ engine, webhookId: path.slice(1), atMs: this.time.monotonicMs() });
        const answer = { kind: "response", status: 200, complete: true } as const;
        const nothing = { responseSample: null, fields: noResponseFields, errorMessage: null };
        return new Promise((resolve) => {
          const durationMs = this.answerMs(engine);
          this.time.after(durationMs, () => resolve({ observation: answer, durationMs, ...nothing }));
        });
      },
      openSockets: () => 0,
      close: async () => undefined,
    };
  }

  /** A call reaches the state after a delay, and its response reaches the engine after another delay. */
  #delayed(state: SharedState, random: SeededRandom): SharedState {
    const way = (): Promise<void> =>
      new Promise((resolve) => void this.time.after(1 + random.uniform() * 2, resolve));
    const over =
      <Entry, Answer>(name: string, work: (entries: readonly Entry[]) => Promise<Answer>) =>
      async (entries: readonly Entry[]): Promise<Answer> => {
        this.calls.push({ name, entries: entries.length });
        await way();
        const answer = await work(entries);
        await way();
        return answer;
      };
    const { limits: tokens, publishes } = state;
    return {
      get isAvailable() {
        return state.isAvailable;
      },
      limits: { draw: over("draw", tokens.draw), giveBack: over("giveBack", tokens.giveBack) },
      publishes: {
        recall: over("recall", publishes.recall),
        remember: over("remember", publishes.remember),
      },
      endpoints: state.endpoints,
      news: state.news,
      watch: (listener) => state.watch(listener),
      close: () => state.close(),
    };
  }
}
