import assert from "node:assert/strict";
import { test } from "node:test";
import { createCircuit } from "../../domain/circuit-breaker.ts";
import type { Webhook } from "../../domain/webhook.ts";
import { SecretUnreadableError } from "../../ports/secret-box.ts";
import type { WebhookRuntimeState } from "../../ports/store/deliveries.ts";
import type { OwnershipStore } from "../../ports/store/ownership.ts";
import type { StoredWebhook, WebhookStore } from "../../ports/store/webhooks.ts";
import type { Metrics } from "../../ports/telemetry.ts";
import type { Directory } from "../endpoint/directory.ts";
import { ManualClock } from "../manual-clock.fixture.ts";
import { ConfigSync } from "./config-sync.ts";

const minuteMs = 60_000;
const nothing = (): void => {};

const unknownState = { pausedUntil: null, pauseReason: null, circuit: null, health: null };

/** A process whose store is changed by other processes without notifying it. */
class Scene {
  readonly clock = new ManualClock();
  readonly stored = new Map<string, StoredWebhook>();
  /** The webhook directory of this process. */
  readonly known = new Map<string, StoredWebhook>();
  readonly sync: ConfigSync;
  uniform = 0;
  /** Number of full reloads. */
  rounds = 0;
  /** A webhook whose secrets were encrypted with a master key that this process does not have. */
  foreign: string | null = null;
  readonly errors: string[] = [];
  /** Endpoints that this process serves; null means all. */
  owned: readonly string[] | null = null;
  /** Webhooks whose state was loaded separately. */
  readonly asked: string[] = [];
  readonly restored: string[] = [];

  constructor() {
    this.sync = new ConfigSync({
      clock: this.clock,
      random: { uniform: () => this.uniform, bytes: (count) => new Uint8Array(count) },
      telemetry: {
        log: {
          debug: nothing,
          info: nothing,
          warn: (fields) => assert.fail(JSON.stringify(fields)),
          error: (_fields, message) => void this.errors.push(message),
        },
        metrics: {} as Metrics,
      },
      webhooks: {
        some: async (ids) => ids.flatMap((id) => this.stored.get(id) ?? []),
        page: async () => {
          this.rounds += 1;
          return [...this.stored.values()];
        },
        tenantKeys: async () => [],
      } as Partial<WebhookStore> as WebhookStore,
      ownership: {
        orders: async () => [],
        reports: async () => [],
        states: async (ids: readonly string[]) => {
          this.asked.push(...ids);
          return ids.map((webhookId) => ({ ...unknownState, webhookId, lastSuccessAt: 7 }));
        },
      } as Partial<OwnershipStore> as OwnershipStore,
      directory: {
        get: (id: string) => this.known.get(id) && this.#endpoint(id),
        all: () => this.known.values(),
        applyTenantKeys: nothing,
      } as Partial<Record<keyof Directory, unknown>> as Directory,
      apply: (stored) => {
        if (stored.webhook.id === this.foreign) throw new SecretUnreadableError("no known master key");
        this.known.set(stored.webhook.id, stored);
      },
      remove: (id) => void this.known.delete(id),
    });
    this.sync.start();
  }

  /** Saves the webhook as another process would, without notifying this one. */
  save(id: string, url: string): void {
    const webhook = { id, url, tenantId: "default", updatedAt: this.clock.now() } as Webhook;
    this.stored.set(id, { webhook, secrets: [], runtime: null });
  }

  #endpoint(id: string) {
    const owned = this.owned?.includes(id) ?? true;
    const restore = ({ webhookId }: WebhookRuntimeState) => void this.restored.push(webhookId);
    const policy = { circuitBreaker: { windowSizeMs: minuteMs } };
    const circuit = createCircuit(0);
    const parts = { policy, circuit, bucket: null, ownerEpoch: null, restore, reported: nothing };
    return { ...this.known.get(id), owned, ...parts };
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    for (let turns = 0; turns < 20; turns += 1) await this.clock.turn();
  }

  urls(): readonly string[] {
    return [...this.known.values()].map(({ webhook }) => webhook.url);
  }
}

test("WDS-179 unannounced changes are read within five minutes, repeatedly", async () => {
  const scene = new Scene();
  for (const [round, uniform] of [0.99, 0, 0.5, 0.99].entries()) {
    scene.uniform = uniform;
    scene.save("changed", `https://receiver.example/${round}`);
    await scene.pass(5 * minuteMs);
    assert.deepEqual(scene.urls(), [`https://receiver.example/${round}`]);
  }
  scene.stored.clear();
  await scene.pass(5 * minuteMs);
  assert.deepEqual(scene.urls(), [], "what was deleted is known as well");
  await scene.sync.stop();
  assert.equal(scene.clock.timers, 0);
});

test("a webhook whose secrets cannot be read is logged as an error and does not prevent others from being read", async () => {
  const scene = new Scene();
  scene.save("a", "https://receiver.example/1");
  scene.save("b", "https://receiver.example/2");
  scene.foreign = "a";
  await scene.sync.reloadAll();
  await scene.sync.load(["a"]);
  assert.deepEqual(scene.urls(), ["https://receiver.example/2"]);
  assert.equal(scene.errors.length, 2);
  assert.match(scene.errors[0] ?? "", /POSTHORN_MASTER_KEY_PREVIOUS/);
  await scene.sync.stop();
});

test("after any number of changes during a read, one more read follows", async () => {
  const scene = new Scene();
  scene.save("a", "https://receiver.example/1");
  const asked = [scene.sync.reloadAll(), scene.sync.reloadAll(), scene.sync.reloadAll()];
  scene.save("a", "https://receiver.example/2");
  await Promise.all(asked);
  assert.equal(scene.rounds, 2);
  assert.deepEqual(scene.urls(), ["https://receiver.example/2"]);
  await scene.sync.reloadAll();
  assert.equal(scene.rounds, 3);
  await scene.sync.stop();
});

test("a request for a full read that arrives while a round ends gets another round", async () => {
  for (let microtasks = 0; microtasks < 40; microtasks += 1) {
    const scene = new Scene();
    let rounds = -1;
    void scene.sync.reloadAll();
    void (async () => {
      for (let passed = 0; passed < microtasks; passed += 1) await Promise.resolve();
      rounds = scene.rounds;
      await scene.sync.reloadAll();
    })();
    await scene.pass(0);
    assert.ok(scene.rounds > rounds, `nothing was read after ${microtasks} microtasks`);
    await scene.sync.stop();
  }
});

test("the health of endpoints is read only for those that this process does not serve", async () => {
  const scene = new Scene();
  for (const id of ["a", "b", "c"]) scene.save(id, `https://receiver.example/${id}`);
  await scene.sync.reloadAll();
  scene.owned = ["b"];
  await scene.sync.loadStates(["a", "b", "c", "unknown"]);
  assert.deepEqual(
    [scene.asked, scene.restored],
    [
      ["a", "c"],
      ["a", "c"],
    ],
  );
  scene.owned = null;
  await scene.sync.loadStates(["a"]);
  assert.deepEqual(scene.asked, ["a", "c"]);
  await scene.sync.stop();
});
