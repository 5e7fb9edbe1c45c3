import type { LaneKey } from "../../core/webhook.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DeliveryStore } from "../../ports/store/deliveries.ts";
import type { OwnershipStore } from "../../ports/store/ownership.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { closedByRate, holdingGate } from "../endpoint/gates.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { EngineOptions } from "../engine-options.ts";
import type { Dispatcher } from "./dispatcher.ts";

export interface OldestDueOptions {
  readonly store: Pick<DeliveryStore, "oldestDue">;
  /** Null in a process that does not look at what nobody owns. */
  readonly ownership: Pick<OwnershipStore, "unownedLanes"> | null;
  readonly directory: Pick<Directory, "all" | "get">;
  readonly dispatcher: Pick<Dispatcher, "isFull">;
  readonly clock: Clock;
}

/**
 * Since when the oldest delivery is due that nothing holds back but this system: no gate of its webhook, no rate limit, and
 * no receiver that is at work on as many requests as it may have. What is in memory is looked at there; for lanes of which the
 * store holds more it is asked, and where nothing is behind nobody is asked.
 */
export class OldestDue {
  readonly #options: OldestDueOptions;

  constructor(options: OldestDueOptions) {
    this.#options = options;
  }

  /** For how long; 0 when nothing is due. */
  async ageMs(): Promise<number> {
    const now = this.#options.clock.now();
    return Math.max(0, now - (await this.#dueAt(now)));
  }

  /** Infinity when nothing waits. */
  async #dueAt(now: number): Promise<number> {
    const { store, directory } = this.#options;
    const lanes: LaneKey[] = [];
    let oldest = Number.POSITIVE_INFINITY;
    for (const endpoint of directory.all()) {
      if (!this.#isOpen(endpoint, now)) continue;
      for (const lane of endpoint.lanes.values()) {
        if (isUnderWay(lane)) continue;
        oldest = Math.min(oldest, lane.peek()?.progress.dueAt ?? oldest);
        if (lane.hasMore() && lanes.length < lanesMax) lanes.push(lane.key);
      }
    }
    lanes.push(...(await this.#unowned(now)));
    const stored = lanes.length === 0 ? null : await store.oldestDue(lanes);
    return Math.min(oldest, stored ?? oldest);
  }

  /** Of these nobody sends anything until a worker acquires their webhooks. */
  async #unowned(now: number): Promise<readonly LaneKey[]> {
    const { ownership, directory } = this.#options;
    if (ownership === null) return [];
    const found: LaneKey[] = [];
    let after: string | null = null;
    for (let pages = 0; pages < pagesMax && found.length < lanesMax; pages += 1) {
      const page = await ownership.unownedLanes({ after, limit: lanesMax });
      for (const { lane } of page.lanes) {
        const endpoint = directory.get(lane.webhookId);
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
    return !this.#options.dispatcher.isFull(endpoint);
  }
}

/** Where several processes share a store, those that schedule look at what nobody owns. */
export function createOldestDue(
  { store, clock, delivers, schedules = delivers }: EngineOptions,
  parts: Pick<OldestDueOptions, "directory" | "dispatcher">,
): OldestDue {
  const ownership = schedules ? (store.ownership ?? null) : null;
  return new OldestDue({ ...parts, store: store.deliveries, ownership, clock });
}

/** The next one of an ordered lane waits for the answer to the one before. */
function isUnderWay(lane: Lane): boolean {
  return lane.ordered && (lane.inFlight > 0 || lane.settling > 0);
}

/** Asked for at once; of more the oldest is not much older. */
const lanesMax = 200;
const pagesMax = 10;
