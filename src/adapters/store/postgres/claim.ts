import type { Priority } from "../../../core/delivery.ts";
import type { ClaimRequest, ClaimResult, Lease } from "../../../ports/store/deliveries.ts";
import { toClaimedDelivery } from "../claimed-delivery.ts";
import { decode, priorityCodes } from "../codes.ts";
import {
  claimColumns,
  type ClaimRow,
  claimManySql,
  claimSql,
  freeExpiredSql,
  freeForeignLeasesSql,
} from "./claim-sql.ts";
import type { LostLeases } from "./lost-leases.ts";
import { booleans, numbers } from "./columns.ts";
import type { Runner } from "./database.ts";
import type { StoreState } from "./state.ts";
import type { StoredLane } from "./string-table.ts";

/** A request whose lane exists, with its index among the requests. */
interface Wanted {
  readonly place: number;
  readonly lane: StoredLane;
  readonly request: ClaimRequest;
  /** Expired leases were not freed yet. */
  readonly fresh: boolean;
}

/** When to retry an ordered lane that another process is claiming right now, or one with foreign leases. */
const againMs = 100;
/** A claim of no more deliveries than this, after one that found few, uses the plan for few. */
const fewWanted = 256;
const fewFound = 16;

/**
 * Claims deliveries. Leases are written into the rows, so that several processes share the work.
 *
 * Unordered lanes need no lock: concurrent claims skip each other's rows. An ordered lane is locked during the
 * statement (its row in `lanes`), because its head must not be skipped. Expired leases, and leases lost with a
 * connection, are freed first and the claim is repeated, so that the usual claim is one statement.
 */
export class Claimer {
  readonly #state: StoreState;
  readonly #release: (leases: readonly Lease[]) => Promise<void>;
  readonly #lost: LostLeases;
  /** Number of deliveries found by the last claim. */
  #found = Number.POSITIVE_INFINITY;

  constructor(state: StoreState, release: (leases: readonly Lease[]) => Promise<void>, lost: LostLeases) {
    this.#state = state;
    this.#release = release;
    this.#lost = lost;
  }

  async claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]> {
    const { lanes } = this.#state;
    await lanes.lookUp(requests.map(({ lane }) => lane));
    const results: ClaimResult[] = requests.map(() => nothing(null));
    for (const round of roundsOf(
      requests.map((request, place) => ({ place, request, lane: lanes.find(request.lane) })),
    )) {
      await this.#claimRound(round, results);
    }
    return results;
  }

  async #claimRound(wanted: readonly Wanted[], results: ClaimResult[]): Promise<void> {
    if (wanted.length === 0) return;
    const stale = await this.#attempt(wanted, results);
    if (stale.length === 0) return;
    await this.#state.database.rows(freeExpiredSql, [
      numbers(stale.map(({ lane }) => lane.ref)),
      numbers(stale.map(({ request }) => request.now)),
    ]);
    await this.#attempt(
      stale.map(({ place, lane, request }) => ({ place, lane, request, fresh: false })),
      results,
    );
  }

  /** Fills in the results; returns the requests to repeat after expired leases were freed. */
  async #attempt(wanted: readonly Wanted[], results: ClaimResult[]): Promise<readonly Wanted[]> {
    try {
      return await this.#ask(wanted, results);
    } catch (error) {
      this.#lost.noteClaims(
        error,
        wanted.map(({ lane, request }) => ({ lane: lane.ref, leaseUntil: request.leaseUntil })),
      );
      throw error;
    }
  }

  async #ask(wanted: readonly Wanted[], results: ClaimResult[]): Promise<readonly Wanted[]> {
    const ordered = wanted.some(({ lane }) => lane.ordered);
    const { database } = this.#state;
    const claimable: Wanted[] = [];
    const { rows, freed } = ordered
      ? await database.transaction(async (transaction) => {
          claimable.splice(0, claimable.length, ...(await this.#lock(transaction, wanted)));
          return this.#query(transaction, claimable);
        })
      : await this.#query(database, wanted);
    freed();
    const asked = ordered ? claimable : wanted;
    for (const { place, request } of wanted) results[place] = nothing(request.now + againMs);
    return this.#collect(rows, asked, results);
  }

  /** Only one process at a time claims from an ordered lane; lanes locked by another process are left out. */
  async #lock(transaction: Runner, wanted: readonly Wanted[]): Promise<readonly Wanted[]> {
    const refs = wanted.filter(({ lane }) => lane.ordered).map(({ lane }) => lane.ref);
    const rows = await transaction.rows<[ref: number]>(
      "SELECT ref FROM posthorn.lanes WHERE ref = ANY ($1::int[]) ORDER BY ref FOR UPDATE SKIP LOCKED",
      [numbers(refs)],
    );
    const locked = new Set(rows.map(([ref]) => ref));
    return wanted.filter(({ lane }) => !lane.ordered || locked.has(lane.ref));
  }

  async #query(
    runner: Runner,
    wanted: readonly Wanted[],
  ): Promise<{ readonly rows: readonly ClaimRow[]; readonly freed: () => void }> {
    const refs = wanted.map(({ lane }) => lane.ref);
    const freed = await this.#lost.free(runner, refs, this.#state.processNumber);
    const wantedMost = wanted.reduce((sum, { request }) => sum + request.limit, 0);
    const isSmall = this.#found <= fewFound && wantedMost <= fewWanted;
    const rows = await runner.rows<ClaimRow>(isSmall ? claimSql : claimManySql, [
      numbers(refs),
      booleans(wanted.map(({ lane }) => lane.ordered)),
      numbers(wanted.map(({ request }) => request.limit)),
      numbers(wanted.map(({ request }) => Math.ceil(request.bodyBytesMax))),
      numbers(wanted.map(({ request }) => request.now)),
      numbers(wanted.map(({ request }) => request.leaseUntil)),
      booleans(wanted.map(({ fresh }) => fresh)),
      this.#state.processNumber,
    ]);
    this.#found = rows.length - wanted.length;
    return { rows, freed };
  }

  async #collect(
    rows: readonly ClaimRow[],
    asked: readonly Wanted[],
    results: ClaimResult[],
  ): Promise<readonly Wanted[]> {
    const taken = rows.filter((row) => row[claimColumns.ref] !== null);
    const leases = taken.map(leaseOf);
    try {
      await this.#state.strings.load(
        taken.flatMap((row) => [row[claimColumns.eventType], row[claimColumns.contentType]]),
      );
    } catch (error) {
      // The caller will not learn of these leases. If releasing them fails too, the next claim frees them.
      await this.#release(leases).catch(() => undefined);
      throw error;
    }
    await this.#release(leases.filter((_, index) => isOutdated(taken[index])));
    const stale: Wanted[] = [];
    const blocked: Wanted[] = [];
    for (const [at, lanes] of Map.groupBy(rows, (row) => row[claimColumns.place])) {
      const wanted = asked[at - 1];
      const first = lanes.find((row) => row[claimColumns.ref] === null);
      if (wanted === undefined || first === undefined) continue;
      if (first[claimColumns.stale]) stale.push(wanted);
      else results[wanted.place] = this.#result(first, lanes, wanted);
      if ((first[claimColumns.blockedUntil] ?? first[claimColumns.othersLeaseEnd]) !== null) blocked.push(wanted);
    }
    await this.#freeForeignLeases(blocked, results);
    return stale;
  }

  /** No other process has a right to leases in lanes of our webhooks, so do not wait for them. */
  async #freeForeignLeases(blocked: readonly Wanted[], results: ClaimResult[]): Promise<void> {
    const { database, membership, processNumber } = this.#state;
    if (blocked.length === 0 || membership.worker === null) return;
    const refs = blocked.map(({ lane }) => lane.ref);
    const rows = await database.rows<[lane: number]>(freeForeignLeasesSql, [
      numbers(refs),
      membership.worker,
      processNumber,
    ]);
    const freed = new Set(rows.map(([lane]) => lane));
    for (const { place, lane, request } of blocked) {
      const result = results[place];
      if (result !== undefined && freed.has(lane.ref))
        results[place] = { ...result, nextDueAt: request.now + againMs };
    }
  }

  #result(summary: ClaimRow, lanes: readonly ClaimRow[], wanted: Wanted): ClaimResult {
    const { lane, request } = wanted;
    const { strings } = this.#state;
    const deliveries = lanes
      .filter((row) => row[claimColumns.ref] !== null && !isOutdated(row))
      .toSorted(
        (left, right) =>
          left[claimColumns.queuePosition] - right[claimColumns.queuePosition] ||
          (left[claimColumns.ref] ?? 0) - (right[claimColumns.ref] ?? 0),
      )
      .map((row) => toClaimedDelivery(row, claimColumns.id, leaseOf(row), strings));
    if (lane.ordered) return { deliveries, ...orderedRest(summary, request.now) };
    const [high, normal, low] = [
      summary[claimColumns.moreHigh],
      summary[claimColumns.moreNormal],
      summary[claimColumns.moreLow],
    ];
    return {
      deliveries,
      more: { high, normal, low },
      nextDueAt: earlier(summary[claimColumns.later], summary[claimColumns.othersLeaseEnd]),
    };
  }
}

function leaseOf(row: ClaimRow): Lease {
  return { ref: row[claimColumns.ref] ?? 0, deliveryId: row[claimColumns.id], leaseToken: row[claimColumns.leaseToken] };
}

/** A lane that is requested twice is claimed twice, one after the other. */
function roundsOf(
  requests: readonly {
    readonly place: number;
    readonly request: ClaimRequest;
    readonly lane: StoredLane | null;
  }[],
): readonly (readonly Wanted[])[] {
  const rounds: Wanted[][] = [];
  const times = new Map<number, number>();
  for (const { place, request, lane } of requests) {
    if (lane === null) continue;
    const round = times.get(lane.ref) ?? 0;
    times.set(lane.ref, round + 1);
    rounds[round] ??= [];
    rounds[round].push({ place, lane, request, fresh: true });
  }
  return rounds;
}

/**
 * Between the snapshot of the claim and its lock, another process sent and rescheduled this delivery. The queue row is
 * current and counts more attempts than the delivery row, which is read from the snapshot.
 */
function isOutdated(row: ClaimRow | undefined): boolean {
  return row !== undefined && row[claimColumns.attempts] !== row[claimColumns.attemptCount];
}

function orderedRest(summary: ClaimRow, now: number): Pick<ClaimResult, "more" | "nextDueAt"> {
  const [, , blockedUntil, headPriority, headDue] = summary;
  const more: Record<Priority, boolean> = { high: false, normal: false, low: false };
  if (headPriority === null) return { more, nextDueAt: blockedUntil };
  more[decode(priorityCodes, headPriority)] = true;
  return { more, nextDueAt: headDue !== null && headDue > now ? headDue : null };
}

function nothing(nextDueAt: number | null): ClaimResult {
  return { deliveries: [], more: { high: false, normal: false, low: false }, nextDueAt };
}

function earlier(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
