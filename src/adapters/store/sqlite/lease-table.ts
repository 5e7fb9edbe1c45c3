/** The holder of a waiting delivery's lease, and its end. */
export interface LeaseRecord {
  readonly leaseToken: number;
  readonly until: number;
  readonly lane: number;
  readonly priority: number;
  /** Its queue position; null when it was leased as it was written ("fresh") and has none. */
  readonly queuePosition: number | null;
}

/**
 * Leases by position, stored in columns: an engine may hold hundreds of thousands, and objects would take three times
 * the memory and burden the garbage collector. Iterates in insertion order.
 */
export class LeaseTable {
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

  /** The end of the lease, without creating a record; undefined when there is none. */
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
