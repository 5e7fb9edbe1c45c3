import type { StatementSync } from "node:sqlite";
import type { Priority } from "../../../core/delivery.ts";
import type { ClaimedDelivery, ClaimRequest, ClaimResult } from "../../../ports/store/deliveries.ts";
import { decode, priorityCodes, stateCodes } from "./codes.ts";
import { rankMax, tierSpan, withinTier } from "./rank.ts";
import type { StoreState } from "./state.ts";
import type { StoredLane } from "./words.ts";

type PlaceRow = [seq: number, rank: number];
type ClaimRow = [
  id: string,
  webhook: number,
  tenant: number,
  eventId: string,
  eventType: number,
  priority: number,
  state: number,
  attemptCount: number,
  createdAt: number,
  firstAttemptAt: number | null,
  dueAt: number,
  reason: string | null,
  contentType: number,
  body: Uint8Array | null,
];

/** The result being filled; `more` and `nextDueAt` as in the port. */
interface ClaimDraft {
  readonly deliveries: ClaimedDelivery[];
  readonly more: Record<Priority, boolean>;
  nextDueAt: number | null;
}

/**
 * Takes leases. A claim reads one stretch of the lane's index, from its head, and stops as soon as it has enough: what
 * waits behind costs nothing. It steps over the lane's leased rows, which are as many as the engine has in hand.
 */
export class Claimer {
  readonly #state: StoreState;
  readonly #places: StatementSync;
  readonly #row: StatementSync;
  readonly #head: StatementSync;

  constructor(state: StoreState) {
    const { connection } = state;
    this.#state = state;
    // With a bare `LIMIT ?` SQLite plans the statement anew on every call, as its plan may depend on the limit: 3 µs.
    this.#places = connection.prepare(
      "SELECT seq, rank FROM deliveries WHERE lane = ? AND rank >= ? AND rank <= ? ORDER BY rank, seq LIMIT ? + 0",
    );
    this.#row = connection.prepare(
      `SELECT d.id, d.webhook, d.tenant, e.id, e.event_type, d.priority, d.state, d.attempt_count, d.created_at,
         d.first_attempt_at, d.due_at, d.reason, e.content_type, e.body
       FROM deliveries d JOIN events e ON e.seq = d.event WHERE d.seq = ?`,
    );
    this.#head = connection.prepare("SELECT priority, due_at FROM deliveries WHERE seq = ?");
  }

  claim(requests: readonly ClaimRequest[]): readonly ClaimResult[] {
    const granted: number[] = [];
    try {
      return this.#state.connection.read(() => requests.map((request) => this.#claimLane(request, granted)));
    } catch (error) {
      for (const seq of granted) this.#state.leases.drop(seq);
      throw error;
    }
  }

  #claimLane(request: ClaimRequest, granted: number[]): ClaimResult {
    const draft: ClaimDraft = {
      deliveries: [],
      more: { high: false, normal: false, low: false },
      nextDueAt: null,
    };
    const lane = this.#state.lanes.find(request.lane);
    if (lane === null) return draft;
    const work: LaneWork = { lane, request, draft, granted, bodyBytes: 0 };
    if (lane.ordered) this.#claimOrdered(work);
    else this.#claimByDueTime(work);
    return draft;
  }

  #claimByDueTime(work: LaneWork): void {
    const leased = this.#state.leases.indexedIn(work.lane.ref);
    for (const priority of priorityCodes.decode) {
      const tier = priorityCodes.encode[priority];
      // Counts every lane, but most stores use one priority, and then two thirds of the seeks are saved.
      if (this.#state.tally.waiting[tier as 0 | 1 | 2] === 0) continue;
      this.#claimTier(work, { priority, base: tier * tierSpan, leased });
    }
  }

  #claimTier(work: LaneWork, tier: Tier): void {
    const { request, draft } = work;
    const dueMax = tier.base + withinTier(request.now);
    const wanted = isFull(work) ? 0 : request.limit - draft.deliveries.length;
    for (const [seq, rank] of this.#placesOf(work.lane, { from: tier.base, to: tierEnd(tier), limit: wanted + tier.leased + 1 })) {
      if (this.#state.leases.isHeld(seq, request.now)) continue;
      if (rank > dueMax) {
        noteDue(draft, rank - tier.base);
        return;
      }
      if (isFull(work)) {
        draft.more[tier.priority] = true;
        this.#noteNextDue(work, tier);
        return;
      }
      this.#take(work, seq);
    }
  }

  /** One seek past everything that is due. */
  #noteNextDue(work: LaneWork, tier: Tier): void {
    const from = tier.base + withinTier(work.request.now) + 1;
    for (const [seq, rank] of this.#placesOf(work.lane, { from, to: tierEnd(tier), limit: tier.leased + 1 })) {
      if (this.#state.leases.isHeld(seq, work.request.now)) continue;
      noteDue(work.draft, rank - tier.base);
      return;
    }
  }

  #claimOrdered(work: LaneWork): void {
    const { request, draft, lane } = work;
    const limit = request.limit + this.#state.leases.indexedIn(lane.ref) + 1;
    for (const [seq] of this.#placesOf(lane, { from: 0, to: rankMax, limit })) {
      if (this.#state.leases.isHeld(seq, request.now)) continue;
      if (!isFull(work)) {
        this.#take(work, seq);
        continue;
      }
      const [priority, dueAt] = this.#head.get(seq) as unknown as [priority: number, dueAt: number];
      draft.more[decode(priorityCodes, priority)] = true;
      if (dueAt > request.now) noteDue(draft, dueAt);
      return;
    }
  }

  #placesOf(
    lane: StoredLane,
    stretch: { readonly from: number; readonly to: number; readonly limit: number },
  ): readonly PlaceRow[] {
    return this.#places.all(lane.ref, stretch.from, stretch.to, stretch.limit) as unknown as readonly PlaceRow[];
  }

  #take(work: LaneWork, seq: number): void {
    const row = this.#row.get(seq) as unknown as ClaimRow | undefined;
    if (row === undefined) throw new Error(`waiting delivery ${seq} has no event`);
    const { leases } = this.#state;
    leases.drop(seq);
    const fence = leases.grant(seq, {
      until: work.request.leaseUntil,
      lane: work.lane.ref,
      priority: row[5],
      fresh: false,
    });
    work.granted.push(seq);
    work.bodyBytes += row[13]?.byteLength ?? 0;
    work.draft.deliveries.push(this.#delivery(row, { ref: seq, fence }));
  }

  #delivery(row: ClaimRow, lease: ClaimedDelivery["lease"]): ClaimedDelivery {
    const { words } = this.#state;
    return {
      lease,
      id: row[0],
      webhookId: words.text(row[1]),
      tenantId: words.text(row[2]),
      eventId: row[3],
      eventType: words.text(row[4]),
      priority: decode(priorityCodes, row[5]),
      progress: {
        state: decode(stateCodes, row[6]),
        attemptCount: row[7],
        createdAt: row[8],
        firstAttemptAt: row[9],
        dueAt: row[10],
        reason: row[11],
      },
      contentType: words.text(row[12]),
      body: row[13],
    };
  }
}

interface LaneWork {
  readonly lane: StoredLane;
  readonly request: ClaimRequest;
  readonly draft: ClaimDraft;
  /** Every lease of the call, to be taken back when a later lane fails. */
  readonly granted: number[];
  bodyBytes: number;
}

interface Tier {
  readonly priority: Priority;
  readonly base: number;
  /** Rows of the lane that a scan may have to step over. */
  readonly leased: number;
}

function tierEnd(tier: Tier): number {
  return tier.base + tierSpan - 1;
}

function isFull({ request, draft, bodyBytes }: LaneWork): boolean {
  if (draft.deliveries.length >= request.limit) return true;
  return draft.deliveries.length > 0 && bodyBytes >= request.bodyBytesMax;
}

function noteDue(draft: ClaimDraft, dueAt: number): void {
  if (draft.nextDueAt === null || dueAt < draft.nextDueAt) draft.nextDueAt = dueAt;
}
