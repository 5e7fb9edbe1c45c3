import { StoreUnavailableError } from "../../src/ports/store.ts";
import type { Store } from "../../src/ports/store.ts";
import type {
  ClaimRequest,
  ClaimResult,
  CommitBatch,
  FanOutPart,
  Settlement,
  SettlementResult,
} from "../../src/ports/store/deliveries.ts";
import { noAlerts, noNotifications, noProblems, noStatistics } from "./model-store/quiet-parts.ts";
import type { VirtualTime } from "./fake-clock.ts";
import type { Ledger } from "./ledger.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { EngineRun } from "./engine-run.ts";

/**
 * Every kind of write that the engine and management make. A process can die just before a write, or just after it
 * without receiving the result.
 */
export const commitBoundaries = [
  "commit.publish",
  "commit.requeue",
  "commit.retry",
  "commit.settle",
  "commit.states",
  "claim",
  "release",
  "webhooks.save",
  "webhooks.delete",
  "upkeep.expire",
  "upkeep.cancel",
  "upkeep.forget-payloads",
  "upkeep.forget-history",
  "upkeep.forget-keys",
  "fan-out",
] as const;
export type CommitBoundary = (typeof commitBoundaries)[number];
export type StorePoint = CommitBoundary | "read";

export interface PlannedCrash {
  readonly point: CommitBoundary;
  readonly phase: "before" | "after";
  /** Decremented at each call to the point. The process dies when it reaches zero. */
  countdown: number;
}

export interface StoreFaults {
  readonly crashes: PlannedCrash[];
  /** Fraction of calls that start a period in which the store is unavailable. */
  readonly outageChance: number;
  readonly outageMsMax: number;
  /** Fraction of commits that are refused once for a reason unrelated to the store's health. */
  readonly refusalChance: number;
  /**
   * Maximum latency of a call before it takes effect, and again before its result arrives. 0 means immediately, as with
   * the embedded store.
   */
  readonly latencyMsMax: number;
}

export interface CrashStoreOptions {
  readonly inner: () => Store;
  readonly ledger: Ledger;
  readonly time: VirtualTime;
  readonly random: SeededRandom;
  readonly faults: StoreFaults;
  readonly crash: (where: string) => void;
  readonly trace: (line: string) => void;
  /** Called when the engine keeps calling the store although no time passes. */
  readonly spinning: () => void;
  /**
   * Called when a write that was refused as part of a group is refused again on its own. The engine then abandons it.
   */
  readonly refused: (run: EngineRun, batch: CommitBatch) => void;
  /** Called when a part of an event was written. */
  readonly fannedOut: (part: FanOutPart) => void;
  /** Called after a commit took effect, before the engine receives its result. */
  readonly committed: (commit: {
    readonly run: EngineRun;
    readonly batch: CommitBatch;
    readonly settled: readonly SettlementResult[];
  }) => void;
}

interface StoreCall {
  readonly run: EngineRun;
  readonly points: readonly StorePoint[];
  readonly batch?: CommitBatch;
}

const callsPerInstantMax = 20_000;

/** Calls of a dead process never complete. */
const never = new Promise<never>(() => undefined);

/** Wraps a world's store: injects the faults that the seed determines, and keeps the ledger. */
export class CrashStore {
  readonly #options: CrashStoreOptions;
  readonly hits = new Map<string, number>();
  /** Stops all faults from now on. */
  healed = false;
  #outageUntilMonotonicMs = 0;
  #callsAt = 0;
  #callsNow = 0;
  readonly #doubted = new WeakSet<Settlement>();
  lastFaultAtMonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(options: CrashStoreOptions) {
    this.#options = options;
  }

  startOutage(durationMs: number): void {
    if (this.healed) return;
    const { time, trace } = this.#options;
    this.#outageUntilMonotonicMs = time.monotonicMs() + durationMs;
    trace(`outage ${durationMs}`);
  }

  heal(): void {
    this.healed = true;
    this.#outageUntilMonotonicMs = 0;
  }

  /** The store as seen by one process. */
  facade(run: EngineRun): Store {
    const { inner, ledger } = this.#options;
    const via = <Result>(point: StorePoint, effect: () => Promise<Result>) =>
      this.#call({ run, points: [point] }, effect);
    const swept = <Result extends { readonly changed: number }>(
      point: StorePoint,
      effect: () => Promise<Result>,
    ) =>
      via(point, async () => {
        const result = await effect();
        if (result.changed > 0) await ledger.reconcile(inner());
        return result;
      });
    return {
      deliveries: {
        commit: (batch) =>
          this.#call({ run, points: pointsOf(batch), batch }, async () => {
            const result = await inner().deliveries.commit(batch);
            this.#options.committed({ run, batch, settled: result.settled });
            ledger.commit(batch, result);
            return result;
          }),
        claim: (requests) =>
          via("claim", async () => {
            const results = await inner().deliveries.claim(requests);
            ledger.claimed(requests, results);
            for (const [index, result] of results.entries())
              this.#options.trace(`  ${describeClaim(requests[index], result)}`);
            return results;
          }),
        end: (command) => via("read", () => inner().deliveries.end(command)),
        release: (leases) =>
          via("release", async () => {
            await inner().deliveries.release(leases);
            ledger.released(leases);
          }),
        lanesWithWork: (after, limit) => via("read", () => inner().deliveries.lanesWithWork(after, limit)),
        oldestDue: (lanes) => via("read", () => inner().deliveries.oldestDue(lanes)),
        fanOut: () =>
          via(ledger.following.size > 0 ? "fan-out" : "read", async () => {
            const part = await inner().deliveries.fanOut();
            if (part !== null) this.#options.fannedOut(part);
            return part;
          }),
        depth: () => via("read", () => inner().deliveries.depth()),
      },
      webhooks: {
        save: (webhook, beside) => via("webhooks.save", () => inner().webhooks.save(webhook, beside)),
        history: (query) => via("read", () => inner().webhooks.history(query)),
        delete: (id, deletedAt, beside) =>
          via("webhooks.delete", () => inner().webhooks.delete(id, deletedAt, beside)),
        saveTenantKeys: (tenantId, keys) =>
          via("read", () => inner().webhooks.saveTenantKeys(tenantId, keys)),
        page: (after, limit) => via("read", () => inner().webhooks.page(after, limit)),
        some: (ids) => via("read", () => inner().webhooks.some(ids)),
        tenantKeys: (tenantId) => via("read", () => inner().webhooks.tenantKeys(tenantId)),
        findBySecretDigest: (digest) => via("read", () => inner().webhooks.findBySecretDigest(digest)),
        hasSecrets: () => via("read", () => inner().webhooks.hasSecrets()),
        deletedWithWork: () => via("read", () => inner().webhooks.deletedWithWork()),
      },
      upkeep: {
        expire: (step) => swept("upkeep.expire", () => inner().upkeep.expire(step)),
        hasFutureDeliveries: (now) => via("read", () => inner().upkeep.hasFutureDeliveries(now)),
        bringNear: (step) =>
          via("read", async () => {
            const result = await inner().upkeep.bringNear(step);
            if (result.changed > 0) await ledger.reconcile(inner());
            return result;
          }),
        cancelWebhook: (step) => swept("upkeep.cancel", () => inner().upkeep.cancelWebhook(step)),
        forgetPayloads: (createdBefore, limit) =>
          via("upkeep.forget-payloads", () => inner().upkeep.forgetPayloads(createdBefore, limit)),
        forgetHistory: (step) => via("upkeep.forget-history", () => inner().upkeep.forgetHistory(step)),
        forgetAudit: (createdBefore, limit) =>
          via("read", () => inner().upkeep.forgetAudit(createdBefore, limit)),
        forgetKeys: (now, limit) => via("upkeep.forget-keys", () => inner().upkeep.forgetKeys(now, limit)),
      },
      history: inner().history,
      registry: inner().registry,
      idempotency: inner().idempotency,
      operations: inner().operations,
      audit: inner().audit,
      portal: inner().portal,
      gateway: inner().gateway,
      alerts: noAlerts,
      notifications: noNotifications,
      statistics: noStatistics,
      problems: noProblems,
      facts: () => via("read", () => inner().facts()),
      ping: () => via("read", () => inner().ping()),
      close: () => Promise.resolve(),
    };
  }

  async #call<Result>(call: StoreCall, effect: () => Promise<Result>): Promise<Result> {
    const { run, points } = call;
    const { trace, crash, faults } = this.#options;
    // Without latency, the write takes effect within the call, as with the embedded store.
    if (faults.latencyMsMax > 0) await this.#latency(run);
    if (!run.alive || this.#isSpinning()) return never;
    const planned = this.#plannedCrash(points);
    if (planned?.phase === "before") {
      crash(`${planned.point}:before`);
      return never;
    }
    if (planned === undefined) this.#mayRefuse(call);
    const result = await effect();
    if (points[0] !== "read") trace(points.join("+"));
    if (planned?.phase === "after" && run.alive) crash(`${planned.point}:after`);
    if (faults.latencyMsMax > 0) await this.#latency(run);
    return run.alive ? result : never;
  }

  /** Whether calls are being repeated while no time passes. The world would then never advance. */
  #isSpinning(): boolean {
    const now = this.#options.time.monotonicMs();
    this.#callsNow = now === this.#callsAt ? this.#callsNow + 1 : 0;
    this.#callsAt = now;
    if (this.#callsNow === callsPerInstantMax) this.#options.spinning();
    return this.#callsNow >= callsPerInstantMax;
  }

  /** Throws if the store is unavailable or refuses this write. */
  #mayRefuse({ run, points, batch }: StoreCall): void {
    if (this.healed) return;
    const { time, random, faults } = this.#options;
    if (random.chance(faults.outageChance)) this.startOutage(random.int({ min: 1, max: faults.outageMsMax }));
    if (this.#outageUntilMonotonicMs > time.monotonicMs()) {
      for (const settlement of batch?.settlements ?? []) this.#doubted.delete(settlement);
      this.#refuse(points, new StoreUnavailableError("outage"));
    }
    if (batch === undefined || points[0] === "read" || !random.chance(faults.refusalChance)) return;
    // The engine writes the parts of a refused group individually, and abandons those that are refused again.
    const settlement = batch.settlements[0];
    if (settlement !== undefined && this.#doubted.has(settlement)) this.#options.refused(run, batch);
    for (const doubted of batch.settlements) this.#doubted.add(doubted);
    this.#refuse(points, new Error("refused"));
  }

  #refuse(points: readonly StorePoint[], error: Error): never {
    this.lastFaultAtMonotonicMs = this.#options.time.monotonicMs();
    for (const point of points)
      this.#hit(`${point}:${error instanceof StoreUnavailableError ? "unavailable" : "refused"}`);
    throw error;
  }

  #plannedCrash(points: readonly StorePoint[]): PlannedCrash | undefined {
    const { crashes } = this.#options.faults;
    if (this.healed) return undefined;
    for (const crash of crashes) if (points.includes(crash.point)) crash.countdown -= 1;
    const next = crashes.findIndex((crash) => crash.countdown <= 0);
    if (next === -1) return undefined;
    const [planned] = crashes.splice(next, 1);
    if (planned !== undefined) this.#hit(`${planned.point}:${planned.phase}`);
    return planned;
  }

  #hit(name: string): void {
    this.hits.set(name, (this.hits.get(name) ?? 0) + 1);
  }

  async #latency(run: EngineRun): Promise<void> {
    const { faults, random, time } = this.#options;
    if (!run.alive) return;
    const delayMs = random.int({ min: 0, max: faults.latencyMsMax });
    if (delayMs > 0) await new Promise<void>((resolve) => time.after(delayMs, resolve));
  }
}

function pointsOf(batch: CommitBatch): readonly StorePoint[] {
  const points: StorePoint[] = [];
  if (batch.publishes.length > 0) points.push("commit.publish");
  if (batch.requeues.length > 0) points.push("commit.requeue");
  if (batch.retries.length > 0) points.push("commit.retry");
  if (batch.settlements.length > 0) points.push("commit.settle");
  if (batch.webhookStates.length > 0) points.push("commit.states");
  return points.length === 0 ? ["read"] : points;
}

function describeClaim(request: ClaimRequest | undefined, result: ClaimResult): string {
  const { high, normal, low } = result.more;
  const lane = `${request?.lane.webhookId.slice(-6)} ${request?.lane.ordering}`;
  return `${lane}: ${result.deliveries.length}, more ${[high, normal, low].map(Number).join("")}, next ${result.nextDueAt}`;
}
