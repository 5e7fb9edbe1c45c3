import type { TransactionListener } from "../driver/connection.ts";

/** The owner of a waiting delivery's lease, and when the lease ends. */
export interface LeaseRecord {
  readonly leaseToken: number;
  readonly until: number;
  readonly lane: number;
  readonly priority: number;
  /** The queue position of the delivery; null if it was leased on insertion ("fresh") and has no position. */
  readonly queuePosition: number | null;
}

/**
 * Leases by position, stored in columns: an engine may hold hundreds of thousands, and objects would take three times
 * the memory and burden the garbage collector. Iterates in insertion order.
 */
class LeaseTable {
  readonly #rows = new Map<number, number>();
  readonly #freeRows: number[] = [];
  #rowsUsed = 0;
  #leaseTokens = new Float64Array(256);
  #untils = new Float64Array(256);
  /** NaN without a queue position. */
  #queuePositions = new Float64Array(256);
  #lanes = new Uint32Array(256);
  #priorities = new Uint8Array(256);

  has(seq: number): boolean {
    return this.#rows.has(seq);
  }

  get(seq: number): LeaseRecord | undefined {
    const row = this.#rows.get(seq);
    return row === undefined ? undefined : this.#read(row);
  }

  /** Returns the end of the lease without creating a record; undefined if the delivery is not leased. */
  untilOf(seq: number): number | undefined {
    const row = this.#rows.get(seq);
    return row === undefined ? undefined : this.#untils[row];
  }

  set(seq: number, lease: LeaseRecord): void {
    const row = this.#rows.get(seq) ?? this.#newRow(seq);
    this.#leaseTokens[row] = lease.leaseToken;
    this.#untils[row] = lease.until;
    this.#queuePositions[row] = lease.queuePosition ?? Number.NaN;
    this.#lanes[row] = lease.lane;
    this.#priorities[row] = lease.priority;
  }

  delete(seq: number): void {
    const row = this.#rows.get(seq);
    if (row === undefined) return;
    this.#rows.delete(seq);
    this.#freeRows.push(row);
  }

  seqs(): IterableIterator<number> {
    return this.#rows.keys();
  }

  *entries(): IterableIterator<[seq: number, lease: LeaseRecord]> {
    for (const [seq, row] of this.#rows) yield [seq, this.#read(row)];
  }

  /** Restores the order by position after a lease was put back. */
  sort(): void {
    const sorted = [...this.#rows].sort((a, b) => a[0] - b[0]);
    this.#rows.clear();
    for (const [seq, row] of sorted) this.#rows.set(seq, row);
  }

  #read(row: number): LeaseRecord {
    const queuePosition = this.#queuePositions[row] ?? Number.NaN;
    return {
      leaseToken: this.#leaseTokens[row] ?? 0,
      until: this.#untils[row] ?? 0,
      lane: this.#lanes[row] ?? 0,
      priority: this.#priorities[row] ?? 0,
      queuePosition: Number.isNaN(queuePosition) ? null : queuePosition,
    };
  }

  #newRow(seq: number): number {
    const row = this.#freeRows.pop() ?? this.#append();
    this.#rows.set(seq, row);
    return row;
  }

  #append(): number {
    if (this.#rowsUsed === this.#leaseTokens.length) this.#grow(this.#rowsUsed * 2);
    this.#rowsUsed += 1;
    return this.#rowsUsed - 1;
  }

  #grow(length: number): void {
    const larger = <Column extends Float64Array | Uint32Array | Uint8Array>(
      column: Column,
      grown: Column,
    ): Column => {
      grown.set(column);
      return grown;
    };
    this.#leaseTokens = larger(this.#leaseTokens, new Float64Array(length));
    this.#untils = larger(this.#untils, new Float64Array(length));
    this.#queuePositions = larger(this.#queuePositions, new Float64Array(length));
    this.#lanes = larger(this.#lanes, new Uint32Array(length));
    this.#priorities = larger(this.#priorities, new Uint8Array(length));
  }
}

/**
 * Leases are in memory: one process owns the folder, so no lease survives a restart and a claim writes nothing.
 *
 * Leases that are taken on insertion ("fresh") are stored separately: the engine's buffers limit their number, and the
 * oldest one determines how far back the next startup must scan.
 */
export class Leases {
  readonly #fresh = new LeaseTable();
  readonly #placed = new LeaseTable();
  readonly #placedPerLane = new Map<number, number>();
  /** Lease tokens of deliveries that were ended while they were leased. */
  readonly #ended = new Map<number, number>();
  #leaseToken = 0;
  /** No fresh lease expires before this time. */
  #freshUntilMin = Number.POSITIVE_INFINITY;
  /** Changes of the current transaction, newest last; undone when it fails. */
  #journal: JournalEntry[] = [];
  /** Changes of `#ended` in the current transaction, with the previous token. */
  #endedJournal: { readonly seq: number; readonly before: number | undefined }[] = [];

  readonly listener: TransactionListener = {
    afterCommit: () => {
      if (this.#journal.length > 0) this.#journal = [];
      if (this.#endedJournal.length > 0) this.#endedJournal = [];
      this.#forgetOldest();
    },
    afterRollback: () => this.#undo(),
  };

  /** All lease tokens granted after this call are above `floor`. */
  startLeaseTokens(floor: number): void {
    this.#leaseToken = floor;
  }

  get(seq: number): LeaseRecord | undefined {
    return this.#fresh.get(seq) ?? this.#placed.get(seq);
  }

  /**
   * Whether the delivery is leased at `now`. An expired lease stays current until another claim takes the delivery, but
   * no longer protects it.
   */
  isHeld(seq: number, now: number): boolean {
    const until = this.#fresh.untilOf(seq) ?? this.#placed.untilOf(seq);
    return until !== undefined && until > now;
  }

  /** Maximum number of entries of the lane that a scan may have to skip. */
  placedIn(lane: number): number {
    return this.#placedPerLane.get(lane) ?? 0;
  }

  grant(seq: number, terms: Omit<LeaseRecord, "leaseToken">): number {
    this.#leaseToken += 1;
    const lease: LeaseRecord = {
      leaseToken: this.#leaseToken,
      until: terms.until,
      lane: terms.lane,
      priority: terms.priority,
      queuePosition: terms.queuePosition,
    };
    this.#put(seq, lease);
    if (terms.queuePosition === null) {
      this.#journal.push({ seq, lease: null });
      if (terms.until < this.#freshUntilMin) this.#freshUntilMin = terms.until;
    }
    return lease.leaseToken;
  }

  /**
   * Ends a lease inside a transaction. Returns the lease if the token is current, and undefined if the lease was lost.
   */
  take(seq: number, leaseToken: number | null): LeaseRecord | undefined {
    const lease = this.get(seq);
    if (lease === undefined || (leaseToken !== null && lease.leaseToken !== leaseToken)) return undefined;
    this.#remove(seq, lease);
    this.#journal.push({ seq, lease });
    return lease;
  }

  /**
   * Records inside a transaction that the delivery ended; its lease owner may still report the outcome of its request.
   */
  end(seq: number): void {
    const lease = this.take(seq, null);
    if (lease === undefined) return;
    this.#endedJournal.push({ seq, before: this.#ended.get(seq) });
    this.#ended.set(seq, lease.leaseToken);
  }

  /** Whether the delivery was ended while this was its current lease. */
  wasEnded(seq: number, leaseToken: number): boolean {
    return this.#ended.get(seq) === leaseToken;
  }

  /** Records inside a transaction that the lease owner has reported. */
  reported(seq: number): void {
    this.#endedJournal.push({ seq, before: this.#ended.get(seq) });
    this.#ended.delete(seq);
  }

  /**
   * Gives a fresh delivery its position inside a transaction. The lease is kept, so that the lease owner may still
   * settle late.
   */
  place(seq: number, queuePosition: number): void {
    const lease = this.take(seq, null);
    if (lease === undefined) return;
    const { leaseToken, until, lane, priority } = lease;
    this.#put(seq, { leaseToken, until, lane, priority, queuePosition });
    this.#journal.push({ seq, lease: null });
  }

  /** Called when the lease owner of an ended delivery has no request to report. Forgets the lease token. */
  forgetEnded(seq: number, leaseToken: number): void {
    if (this.wasEnded(seq, leaseToken)) this.#ended.delete(seq);
  }

  /** Ends the lease of a delivery that has a position; nothing needs to be written. */
  drop(seq: number): void {
    const lease = this.#placed.get(seq);
    if (lease !== undefined) this.#remove(seq, lease);
  }

  /** The oldest leased delivery without a position; null if no such delivery exists. */
  freshFirst(): number | null {
    const first = this.#fresh.seqs().next();
    return first.done === true ? null : first.value;
  }

  fresh(): IterableIterator<[seq: number, lease: LeaseRecord]> {
    return this.#fresh.entries();
  }

  /** Fresh deliveries with expired leases. Examines all fresh deliveries at most once per lease duration. */
  freshExpired(now: number): readonly number[] {
    if (now < this.#freshUntilMin) return [];
    const expired: number[] = [];
    let untilMin = Number.POSITIVE_INFINITY;
    for (const [seq, lease] of this.#fresh.entries()) {
      if (lease.until <= now) expired.push(seq);
      else if (lease.until < untilMin) untilMin = lease.until;
    }
    // Expired leases are returned again until the caller has taken them in a committed transaction.
    this.#freshUntilMin = expired.length > 0 ? now : untilMin;
    return expired;
  }

  #put(seq: number, lease: LeaseRecord): void {
    if (lease.queuePosition === null) {
      this.#fresh.set(seq, lease);
      return;
    }
    if (!this.#placed.has(seq)) this.#placedPerLane.set(lease.lane, this.placedIn(lease.lane) + 1);
    this.#placed.set(seq, lease);
  }

  #remove(seq: number, lease: LeaseRecord): void {
    if (lease.queuePosition === null) {
      this.#fresh.delete(seq);
      return;
    }
    this.#placed.delete(seq);
    const left = this.placedIn(lease.lane) - 1;
    if (left > 0) this.#placedPerLane.set(lease.lane, left);
    else this.#placedPerLane.delete(lease.lane);
  }

  #forget(seq: number): void {
    const lease = this.get(seq);
    if (lease !== undefined) this.#remove(seq, lease);
  }

  /**
   * Drops the oldest tokens. Some lease owners never report, because their process gave up or had nothing to report.
   */
  #forgetOldest(): void {
    const seqs = this.#ended.keys();
    while (this.#ended.size > endedMax) this.#ended.delete(seqs.next().value ?? 0);
  }

  #undo(): void {
    for (const { seq, lease } of this.#journal.reverse()) {
      if (lease !== null) this.#put(seq, lease);
      else this.#forget(seq);
    }
    // Putting a lease back appends it, but `freshFirst` relies on the order by position.
    this.#fresh.sort();
    this.#journal = [];
    for (const { seq, before } of this.#endedJournal.reverse()) {
      if (before === undefined) this.#ended.delete(seq);
      else this.#ended.set(seq, before);
    }
    this.#endedJournal = [];
    this.#freshUntilMin = 0;
  }
}

/** Many times the number of deliveries in flight. */
const endedMax = 50_000;

/** A null `lease` undoes the grant of a lease; any other value undoes the end of that lease. */
interface JournalEntry {
  readonly seq: number;
  readonly lease: LeaseRecord | null;
}
