import type { LaneKey } from "../../domain/webhook.ts";
import { Loop } from "../../ports/clock.ts";
import type { DeliveryStore } from "../../ports/store/deliveries.ts";
import type { WebhookStore } from "../../ports/store/webhooks.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { EngineContext } from "../engine-options.ts";
import type { Dispatcher } from "./dispatcher.ts";

/** Loads all stored webhooks, with the keys of their tenants and their runtime state. */
export async function loadWebhooks(store: WebhookStore, directory: Directory): Promise<void> {
  const tenantsSeen = new Set<string>();
  for (let after: string | null = null; ; ) {
    const page = await store.page(after, webhooksPage);
    for (const { webhook, secrets, runtime } of page) {
      const { tenantId } = webhook;
      if (!tenantsSeen.has(tenantId)) {
        tenantsSeen.add(tenantId);
        directory.applyTenantKeys(tenantId, await store.tenantKeys(tenantId));
      }
      const endpoint = directory.apply(webhook, secrets);
      if (runtime !== null) endpoint.restore(runtime);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < webhooksPage) return;
    after = last.webhook.id;
  }
}

/**
 * Finds lanes with work after a start: lane names, a page at a time, in parallel with new work. The deliveries are read
 * when the lane has its turn, so that a million waiting deliveries neither fill memory nor delay the first one.
 */
export class BacklogReader {
  readonly #store: DeliveryStore;
  readonly #directory: Directory;
  readonly #dispatcher: Pick<Dispatcher, "consider">;
  readonly #loop: Loop;
  #finished = false;

  constructor(
    context: Pick<EngineContext, "clock" | "telemetry">,
    store: DeliveryStore,
    directory: Directory,
    dispatcher: Pick<Dispatcher, "consider">,
  ) {
    this.#store = store;
    this.#directory = directory;
    this.#dispatcher = dispatcher;
    this.#loop = new Loop({
      clock: context.clock,
      round: () => this.#read(),
      failed: (error) => {
        context.telemetry.log.error({ err: String(error) }, "reading the backlog failed; retrying");
        this.#loop.soon(retryMs);
      },
    });
  }

  /**
   * Whether all lanes with work have been found. Until then, a lane that seems empty may have older deliveries in the
   * store.
   */
  get finished(): boolean {
    return this.#finished;
  }

  start(): void {
    void this.#loop.run();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #read(): Promise<void> {
    for (let after: string | null = null; !this.#loop.isStopped; ) {
      const page = await this.#store.lanesWithWork(after, lanesPage);
      for (const key of page.lanes) this.#lookInto(key);
      if (page.next === null) {
        this.#finished = true;
        return;
      }
      after = page.next;
    }
  }

  #lookInto(key: LaneKey): void {
    const lane = this.#directory.get(key.webhookId)?.lane(key);
    if (lane === undefined) return;
    lane.markAllMore();
    this.#dispatcher.consider(lane);
  }
}

const webhooksPage = 1_000;
const lanesPage = 500;
const retryMs = 1_000;
