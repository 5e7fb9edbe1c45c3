import type { LaneKey } from "../../domain/webhook.ts";
import type { DeliveryStore } from "../../ports/store/deliveries.ts";
import type { OwnershipStore } from "../../ports/store/ownership.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { closedByRate, holdingGate } from "../endpoint/gates.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { EngineContext } from "../engine-options.ts";
import type { Dispatcher } from "./dispatcher.ts";

/**
 * Finds the oldest due delivery that only this system delays: its webhook has no closed gate or rate limit, and its
 * receiver has fewer than the maximum number of requests in flight. Checks memory first, and queries the store only for
 * lanes that have further deliveries there.
 */
export class OldestDue {
  readonly #context: Pick<EngineContext, "clock">;
  readonly #store: Pick<DeliveryStore, "oldestDue">;
  readonly #ownership: Pick<OwnershipStore, "unownedLanes"> | null;
  readonly #directory: Pick<Directory, "all" | "get">;
  readonly #dispatcher: Pick<Dispatcher, "isFull">;

  /** `ownership` is null in a process that does not check unowned webhooks. */
  constructor(
    context: Pick<EngineContext, "clock">,
    store: Pick<DeliveryStore, "oldestDue">,
    ownership: Pick<OwnershipStore, "unownedLanes"> | null,
    directory: Pick<Directory, "all" | "get">,
    dispatcher: Pick<Dispatcher, "isFull">,
  ) {
    this.#context = context;
    this.#store = store;
    this.#ownership = ownership;
    this.#directory = directory;
    this.#dispatcher = dispatcher;
  }

  /** Age of the oldest due delivery in milliseconds; 0 if none is due. */
  async ageMs(): Promise<number> {
    const now = this.#context.clock.now();
    return Math.max(0, now - (await this.#dueAt(now)));
  }

  /** Due time of the oldest waiting delivery; Infinity if no delivery is waiting. */
  async #dueAt(now: number): Promise<number> {
    const lanes: LaneKey[] = [];
    let oldest = Number.POSITIVE_INFINITY;
    for (const endpoint of this.#directory.all()) {
      if (!this.#isOpen(endpoint, now)) continue;
      for (const lane of endpoint.lanes.values()) {
        if (isUnderWay(lane)) continue;
        oldest = Math.min(oldest, lane.peek()?.progress.dueAt ?? oldest);
        if (lane.hasMore() && lanes.length < lanesMax) lanes.push(lane.key);
      }
    }
    lanes.push(...(await this.#unowned(now)));
    const stored = lanes.length === 0 ? null : await this.#store.oldestDue(lanes);
    return Math.min(oldest, stored ?? oldest);
  }

  /** Lanes without an owner. Their deliveries wait until a worker acquires their webhooks. */
  async #unowned(now: number): Promise<readonly LaneKey[]> {
    const ownership = this.#ownership;
    if (ownership === null) return [];
    const found: LaneKey[] = [];
    let after: string | null = null;
    for (let pages = 0; pages < pagesMax && found.length < lanesMax; pages += 1) {
      const page = await ownership.unownedLanes(after, lanesMax);
      for (const { lane } of page.lanes) {
        const endpoint = this.#directory.get(lane.webhookId);
        if (endpoint !== undefined && holdingGate(endpoint, now) === null) found.push(lane);
      }
      if (page.next === null) break;
      after = page.next;
    }
    return found;
  }

  #isOpen(endpoint: Endpoint, now: number): boolean {
    if (!endpoint.owned || endpoint.lanes.size === 0) return false;
    if (holdingGate(endpoint, now) !== null || closedByRate(endpoint, now) !== null) return false;
    return !this.#dispatcher.isFull(endpoint);
  }
}

/** The next delivery of an ordered lane waits for the response to the previous one. */
function isUnderWay(lane: Lane): boolean {
  return lane.ordered && (lane.inFlight > 0 || lane.settling > 0);
}

/** Maximum number of lanes per query. Deliveries of the lanes beyond it are hardly older. */
const lanesMax = 200;
const pagesMax = 10;
