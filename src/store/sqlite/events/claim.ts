import type { StatementSync } from "node:sqlite";
import type { Priority } from "../../../domain/delivery.ts";
import type { LaneKey } from "../../../domain/webhook.ts";
import type { ClaimedDelivery, ClaimRequest, ClaimResult } from "../../../ports/store/deliveries.ts";
import { claimed, type ClaimedRow, claimedSql, toClaimedDelivery } from "../../claimed-delivery.ts";
import {
  decode,
  priorityCodes,
  queuePositionMax,
  tierSpan,
  waitingMax,
  withinTier,
} from "../../column-values.ts";
import type { StoredLane } from "../driver/string-table.ts";
import type { StoreState } from "../state.ts";
import type { EntryRow, LaneEntry } from "./lane-queue.ts";

type HeadRow = [priority: number, dueAt: number, state: number];
/** The result while it is being filled; `more` and `nextDueAt` are defined in the port. */
interface ClaimDraft {
  readonly deliveries: ClaimedDelivery[];
  readonly more: Record<Priority, boolean>;
  nextDueAt: number | null;
}

/**
 * Takes leases. A claim reads one range of the lane, from its head, and stops as soon as it has enough, so deliveries
 * further back cost nothing. It skips leased deliveries. Their number is bounded by the number of deliveries of this
 * lane that the engine holds.
 */
export class Claimer {
  readonly #state: StoreState;
  readonly #row: StatementSync;
  readonly #webhookTenant: StatementSync;
  readonly #head: StatementSync;

  constructor(state: StoreState) {
    const { connection } = state;
    this.#state = state;
    this.#row = connection.prepare(
      `SELECT ${claimedSql("e.occurred_at", "e.tenant, NULL, NULL")}
       FROM deliveries d JOIN events e ON e.seq = d.event WHERE d.seq = ?`,
    );
    this.#webhookTenant = connection.prepare("SELECT tenant FROM webhooks WHERE id = ?");
    this.#head = connection.prepare("SELECT priority, due_at, state FROM deliveries WHERE seq = ?");
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

  /** The due time of the first unleased delivery in these lanes; null if there is none. */
  oldestDue(lanes: readonly LaneKey[]): number | null {
    const dues = this.#state.connection.read(() =>
      lanes.flatMap((key) => {
        const lane = this.#state.lanes.find(key);
        return lane === null ? [] : this.#dues(lane);
      }),
    );
    return dues.length === 0 ? null : Math.min(...dues);
  }

  #dues(lane: StoredLane): readonly number[] {
    if (lane.ordered) return this.#firstDue(lane, 0, queuePositionMax);
    return Object.values(priorityCodes.encode).flatMap((tier) =>
      this.#firstDue(lane, tier * tierSpan, (tier + 1) * tierSpan - 1),
    );
  }

  #firstDue(lane: StoredLane, from: number, to: number): readonly number[] {
    for (const [seq, queuePosition] of this.#free({ lane, now: 0 }, { from, to, wanted: 1 })) {
      const head = this.#waitingHead({ lane: lane.ref, queuePosition, seq });
      if (head !== null) return [head[1]];
    }
    return [];
  }

  #claimLane(request: ClaimRequest, granted: number[]): ClaimResult {
    const draft: ClaimDraft = {
      deliveries: [],
      more: { high: false, normal: false, low: false },
      nextDueAt: null,
    };
    const lane = this.#state.lanes.find(request.lane);
    if (lane === null) return draft;
    // All deliveries of a lane belong to one webhook, so its row is read once.
    const webhook = this.#webhookTenant.get(request.lane.webhookId) as unknown as [string | null] | undefined;
    const webhookTenant = webhook?.[0] ?? null;
    const work: LaneWork = { lane, request, webhookTenant, draft, granted, bodyBytes: 0 };
    if (lane.ordered) this.#claimOrdered(work);
    else this.#claimByDueTime(work);
    return draft;
  }

  #claimByDueTime(work: LaneWork): void {
    for (const priority of priorityCodes.decode) {
      const tier = priorityCodes.encode[priority];
      // `waiting` counts all lanes. Most stores use only one priority, so this check saves two thirds of the seeks.
      if (this.#state.counters.waiting[tier as 0 | 1 | 2] > 0) this.#claimTier(work, priority);
    }
  }

  #claimTier(work: LaneWork, priority: Priority): void {
    const { request, draft } = work;
    const base = priorityCodes.encode[priority] * tierSpan;
    const dueMax = base + withinTier(request.now);
    const wanted = isFull(work) ? 0 : request.limit - draft.deliveries.length;
    for (const [seq, queuePosition] of this.#free(inLane(work), {
      from: base,
      to: base + tierSpan - 1,
      wanted: wanted + 1,
    })) {
      if (queuePosition > dueMax) {
        noteDue(draft, queuePosition - base);
        return;
      }
      if (isFull(work)) {
        if (this.#waitingHead({ lane: work.lane.ref, queuePosition, seq }) === null) continue;
        draft.more[priority] = true;
        // A single seek past all due deliveries.
        for (const [, later] of this.#free(inLane(work), {
          from: dueMax + 1,
          to: base + tierSpan - 1,
          wanted: 1,
        })) {
          noteDue(draft, later - base);
          return;
        }
        return;
      }
      this.#take(work, { lane: work.lane.ref, queuePosition, seq });
    }
  }

  #claimOrdered(work: LaneWork): void {
    const { request, draft } = work;
    for (const [seq, queuePosition] of this.#free(inLane(work), {
      from: 0,
      to: queuePositionMax,
      wanted: request.limit + 1,
    })) {
      if (!isFull(work)) {
        this.#take(work, { lane: work.lane.ref, queuePosition, seq });
        continue;
      }
      const head = this.#waitingHead({ lane: work.lane.ref, queuePosition, seq });
      if (head === null) continue;
      const [priority, dueAt] = head;
      draft.more[decode(priorityCodes, priority)] = true;
      if (dueAt > request.now) noteDue(draft, dueAt);
      return;
    }
  }

  /** Entries of the lane, in order, that are neither leased nor marked as spent. */
  *#free(
    looking: { readonly lane: StoredLane; readonly now: number },
    stretch: { readonly from: number; readonly to: number; readonly wanted: number },
  ): Iterable<EntryRow> {
    const { leases, queue } = this.#state;
    const { now } = looking;
    const lane = looking.lane.ref;
    const limit = stretch.wanted + leases.placedIn(lane) + queue.spentIn(lane);
    let place = { lane, queuePosition: stretch.from, seq: 0 };
    for (;;) {
      const rows = queue.after(place, stretch.to, limit);
      for (const row of rows) {
        const [seq] = row;
        if (!queue.isSpent({ lane, seq }) && !leases.isHeld(seq, now)) yield row;
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < limit) return;
      place = { lane, queuePosition: last[1], seq: last[0] };
    }
  }

  /** The delivery of an entry; null if a crash left the entry behind after its delivery had ended or was deleted. */
  #waitingHead(entry: LaneEntry): HeadRow | null {
    const row = this.#head.get(entry.seq) as unknown as HeadRow | undefined;
    if (row !== undefined && row[2] <= waitingMax) return row;
    this.#state.queue.foundSpent(entry);
    return null;
  }

  #take(work: LaneWork, entry: LaneEntry): void {
    const { leases, strings } = this.#state;
    const row = this.#claimedRow(work, entry.seq);
    if (row === undefined || row[claimed.state] > waitingMax) {
      if (this.#waitingHead(entry) !== null) throw new Error(`waiting delivery ${entry.seq} has no event`);
      return;
    }
    const leaseToken = leases.grant(entry.seq, {
      until: work.request.leaseUntil,
      lane: entry.lane,
      priority: row[claimed.priority],
      queuePosition: entry.queuePosition,
    });
    work.granted.push(entry.seq);
    work.bodyBytes += row[claimed.body]?.byteLength ?? 0;
    const lease = { ref: entry.seq, deliveryId: row[claimed.id], leaseToken };
    work.draft.deliveries.push(toClaimedDelivery(row, 0, lease, strings));
  }

  /** Reads the columns of a claimed delivery. Names that the claim already has are not read again. */
  #claimedRow({ request, webhookTenant }: LaneWork, seq: number): ClaimedRow | undefined {
    const row = this.#row.get(seq) as unknown as unknown[] | undefined;
    if (row === undefined) return undefined;
    row[claimed.tenant] = this.#state.strings.text(row[claimed.tenant] as number);
    row[claimed.webhook] = request.lane.webhookId;
    row[claimed.webhookTenant] = webhookTenant;
    return row as ClaimedRow;
  }
}

interface LaneWork {
  readonly lane: StoredLane;
  readonly request: ClaimRequest;
  /** Tenant of the lane's webhook; null if the webhook does not exist. */
  readonly webhookTenant: string | null;
  readonly draft: ClaimDraft;
  /** All leases of the call, which are released if a later lane fails. */
  readonly granted: number[];
  bodyBytes: number;
}

function inLane({ lane, request }: LaneWork): { readonly lane: StoredLane; readonly now: number } {
  return { lane, now: request.now };
}

function isFull({ request, draft, bodyBytes }: LaneWork): boolean {
  if (draft.deliveries.length >= request.limit) return true;
  return draft.deliveries.length > 0 && bodyBytes >= request.bodyBytesMax;
}

function noteDue(draft: ClaimDraft, dueAt: number): void {
  if (draft.nextDueAt === null || dueAt < draft.nextDueAt) draft.nextDueAt = dueAt;
}
