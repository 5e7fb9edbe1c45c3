import type { LaneKey } from "../../domain/webhook.ts";
import { type Clock, Loop } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { OwnershipStore } from "../../ports/store/ownership.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { closedGate } from "../endpoint/gates.ts";
import { type Lane, laneId } from "../endpoint/lane.ts";
import type { OwnedEndpoints } from "./owned-endpoints.ts";

export interface StalledLanesOptions {
  readonly store: Pick<OwnershipStore, "overdue">;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly owned: Pick<OwnedEndpoints, "leaving">;
  /** The worker number under which this process owns webhooks; null if its ownership is not certain. */
  readonly worker: () => number | null;
  readonly endpoint: (webhookId: string) => Endpoint | undefined;
  /** Discards the lane state in memory and claims from the store again. */
  readonly reread: (lane: Lane) => void;
  /** Releases webhooks that this worker owns in the store but does not serve. */
  readonly releaseUnowned: () => void;
}

/**
 * The last safety net: finds unleased deliveries that have been due for a long time, in lanes of webhooks that this
 * worker owns, without a closed gate. Either memory differs from the store, for example after a failover that lost
 * commits, or there is a bug in the engine. Other checks trust memory; this one trusts the store.
 *
 * A lane counts as stalled once two checks in a row have found it. Otherwise a lane that was served between the
 * store's result and the check of memory would count. It is counted and logged once for as long as it is found, and
 * repaired each time.
 */
export class StalledLanes {
  readonly #options: StalledLanesOptions;
  /** The lanes that the last check found, by name, and whether they were logged. */
  #found: ReadonlyMap<string, { readonly isReported: boolean }> = new Map();
  readonly #loop: Loop;

  constructor(options: StalledLanesOptions) {
    const { clock, telemetry } = options;
    this.#options = options;
    this.#loop = new Loop({
      clock,
      round: () => this.#look(),
      pauseMs: (tookMs) => this.#pauseMs(tookMs),
      failed: (error) => {
        // After a failed check, the next check counts every lane as found for the first time.
        this.#found = new Map();
        telemetry.log.warn({ err: String(error) }, "searching for stalled lanes failed; retrying");
      },
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  #pauseMs(tookMs: number): number {
    const isNew = [...this.#found.values()].some(({ isReported }) => !isReported);
    const pauseMs = isNew ? againMs : periodMs + this.#options.random.uniform() * jitterMs;
    return Math.max(pauseMs, restFactor * tookMs);
  }

  async #look(): Promise<void> {
    const { worker } = this.#options;
    const number = worker();
    let still: readonly LaneKey[] = number === null ? [] : await this.#standingStill(number);
    // Other workers own these webhooks now.
    if (worker() !== number) still = [];
    const found = new Map<string, { readonly isReported: boolean }>();
    for (const key of still) {
      const name = nameOf(key);
      const before = this.#found.get(name);
      if (before !== undefined) this.#repair(key, before.isReported);
      found.set(name, { isReported: before !== undefined });
    }
    this.#found = found;
  }

  async #standingStill(worker: number): Promise<readonly LaneKey[]> {
    const { store, clock } = this.#options;
    const before = clock.now() - overdueMs;
    const still: LaneKey[] = [];
    for (let after: string | null = null; !this.#loop.isStopped; ) {
      const page = await store.overdue({ worker, before, after, limit: pageLanes });
      still.push(...page.lanes.filter((key) => this.#standsStill(key)));
      if (page.next === null || still.length >= repairedMax) break;
      after = page.next;
    }
    return still.filter((key) => this.#standsStill(key));
  }

  #standsStill(key: LaneKey): boolean {
    const { endpoint: find, owned, clock } = this.#options;
    const endpoint = find(key.webhookId);
    // The webhook was deleted or is inactive. Upkeep cancels the deliveries of deleted webhooks.
    if (endpoint === undefined || endpoint.webhook.status !== "active") return false;
    if (!endpoint.owned) return !owned.leaving.has(endpoint);
    const now = clock.now();
    if (endpoint.wakeAt !== null || closedGate(endpoint, now) !== null) return false;
    const lane = endpoint.lanes.get(laneId(key));
    return lane === undefined || (!isUnderWay(lane, now) && !isInLine(lane));
  }

  #repair(key: LaneKey, isReported: boolean): void {
    const { telemetry, endpoint: find, reread, releaseUnowned } = this.#options;
    const endpoint = find(key.webhookId);
    if (endpoint === undefined) return;
    if (!isReported) {
      telemetry.metrics.alarmed("lane_stalled");
      telemetry.log.warn(
        { webhookId: key.webhookId, lane: laneId(key), isServed: endpoint.owned },
        "overdue deliveries were not claimed; reading the lane again",
      );
    }
    if (endpoint.owned) reread(endpoint.lane(key));
    else releaseUnowned();
  }
}

/**
 * True if the lane is active or will be soon. Lost deliveries do not count as active: their leases no longer exist in
 * the store.
 */
function isUnderWay(lane: Lane, now: number): boolean {
  if (lane.inFlight > lane.lost || lane.settling > 0 || lane.reserved > 0) return true;
  if (lane.claiming || lane.releasing > 0) return true;
  return lane.wakeAt !== null && Math.abs(lane.wakeAt - now) <= soonMs;
}

/** The lane waits for its turn or for a busy request slot. */
function isInLine({ readyTier, endpoint }: Lane): boolean {
  if (readyTier === -1) return false;
  return endpoint.readyTier !== -1 || endpoint.inLine || endpoint.waitsAt !== null || endpoint.inFlight > 0;
}

const nameOf = (key: LaneKey): string => `${key.webhookId}\n${laneId(key)}`;

/** Longer than any other mechanism needs to find a lane, so a lane found here was missed by them. */
const overdueMs = 30_000;
/** Between 10 and 15 s, so that workers do not all check at the same time. */
const periodMs = 10_000;
const jitterMs = 5_000;
/** Interval between the check that finds a lane and the check that confirms it. */
const againMs = 2_000;
/**
 * A sleeping lane that wakes up within this time counts as active. An ordered lane may take this long to check for a
 * changed head.
 */
const soonMs = 1_000;
/** Limits the check to about a fifth of the time. */
const restFactor = 4;
/** Keeps statements short, because deliveries use the same connections. */
const pageLanes = 500;
/** Maximum number of lanes repaired in one check; the next check finds the others. */
const repairedMax = 100;
