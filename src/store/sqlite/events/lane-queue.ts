import type { StatementSync } from "node:sqlite";
import { queuePositionMax, waitingMax } from "../../column-values.ts";
import type { Connection, TransactionListener } from "../driver/connection.ts";

/** The position of one waiting delivery in its lane. */
export interface LaneEntry {
  readonly lane: number;
  readonly queuePosition: number;
  readonly seq: number;
}

export type EntryRow = [seq: number, queuePosition: number];

/**
 * Number of spent entries of a lane that are removed together. They are adjacent, so removing them together writes one
 * page instead of one page each.
 */
const spentPerLane = 16;
/** Limit over all lanes; if it is exceeded, all spent entries are removed, in the order of the lanes. */
const spentMax = 8192;

/**
 * The waiting deliveries of every lane in claim order.
 *
 * An entry is removed some time after its delivery has ended, because removing the heads of a hundred lanes with every
 * commit would rewrite a hundred pages. Until then, the entry is "spent". It is marked as spent in memory; after a crash, the
 * delivery's row shows that the delivery is not waiting any more. So an entry is only a hint, and the delivery's row
 * decides. However, every waiting delivery with a queue position has an entry.
 */
export class LaneQueue {
  readonly #insert: StatementSync;
  readonly #remove: StatementSync;
  readonly #entries: StatementSync;
  readonly #nextLane: StatementSync;
  readonly #state: StatementSync;
  /** Maps lane to publish position to queue position. Includes entries of the current transaction. */
  readonly #spent = new Map<number, Map<number, number>>();
  #spentCount = 0;
  /** Entries that the current transaction has marked as spent. */
  #spending: LaneEntry[] = [];
  /** Spent entries whose deliveries wait again because of the current transaction. */
  #revived: LaneEntry[] = [];
  #swept: readonly number[] = [];

  constructor(connection: Connection) {
    this.#insert = connection.prepare("INSERT INTO lane_entries VALUES (?, ?, ?)");
    this.#remove = connection.prepare(
      "DELETE FROM lane_entries WHERE lane = ? AND queue_position = ? AND delivery = ?",
    );
    // With a bare `LIMIT ?`, SQLite plans the statement on every call, which takes 3 µs, because the plan may depend on
    // the limit.
    this.#entries = connection.prepare(
      `SELECT delivery, queue_position FROM lane_entries WHERE lane = ? AND (queue_position, delivery) > (?, ?) AND
        queue_position <= ?
       ORDER BY queue_position, delivery LIMIT ? + 0`,
    );
    this.#nextLane = connection.prepare("SELECT min(lane) FROM lane_entries WHERE lane > ?");
    this.#state = connection.prepare("SELECT state FROM deliveries WHERE seq = ?");
    connection.join(this.#listener);
  }

  readonly #listener: TransactionListener = {
    beforeCommit: () => this.#sweep(),
    afterCommit: () => this.#forgetSwept(),
    afterRollback: () => this.#undo(),
  };

  /** Must be called inside a write, like `remove` and `spend`. */
  insert(entry: LaneEntry): void {
    this.#insert.run(entry.lane, entry.queuePosition, entry.seq);
  }

  remove(entry: LaneEntry): void {
    this.#remove.run(entry.lane, entry.queuePosition, entry.seq);
  }

  /** Called when the delivery has ended. Its entry is removed with this commit or a later one. */
  spend(entry: LaneEntry): void {
    this.#remember(entry);
    this.#spending.push(entry);
  }

  /**
   * Called when an ended delivery waits again. Removes the entry that the delivery may have left behind when it ended,
   * whether or not it is marked as spent.
   */
  revive(entry: LaneEntry): void {
    this.remove(entry);
    const queuePosition = this.#spent.get(entry.lane)?.get(entry.seq);
    if (queuePosition === undefined) return;
    const spent = { lane: entry.lane, queuePosition, seq: entry.seq };
    this.remove(spent);
    this.#forget(spent);
    this.#revived.push(spent);
  }

  /** Called when a claim has found an entry whose delivery had ended before a crash. Marks the entry as spent. */
  foundSpent(entry: LaneEntry): void {
    this.#remember(entry);
  }

  isSpent({ lane, seq }: Pick<LaneEntry, "lane" | "seq">): boolean {
    return this.#spent.get(lane)?.has(seq) === true;
  }

  /** Maximum number of entries of the lane that a scan may have to skip. */
  spentIn(lane: number): number {
    return this.#spent.get(lane)?.size ?? 0;
  }

  /** Entries behind a position, in order, including spent ones. */
  after(place: LaneEntry, positionMax: number, limit: number): readonly EntryRow[] {
    const rows = this.#entries.all(place.lane, place.queuePosition, place.seq, positionMax, limit);
    return rows as unknown as readonly EntryRow[];
  }

  /** The next lane with waiting deliveries. Seeks from lane to lane, regardless of how many deliveries there are. */
  laneAfter(lane: number): number | null {
    for (let next = this.#seekLane(lane); ; next = this.#seekLane(next)) {
      if (next === null || this.#holdsWaiting(next)) return next;
    }
  }

  #seekLane(lane: number): number | null {
    return (this.#nextLane.get(lane) as unknown as [lane: number | null])[0];
  }

  #holdsWaiting(lane: number): boolean {
    const limit = this.spentIn(lane) + 1;
    let place: LaneEntry = { lane, queuePosition: 0, seq: 0 };
    for (;;) {
      const rows = this.after(place, queuePositionMax, limit);
      for (const [seq, queuePosition] of rows) {
        place = { lane, queuePosition, seq };
        if (this.isSpent(place)) continue;
        if (this.#waits(seq)) return true;
        this.foundSpent(place);
      }
      if (rows.length < limit) return false;
    }
  }

  #waits(seq: number): boolean {
    const row = this.#state.get(seq) as unknown as [state: number] | undefined;
    return row !== undefined && row[0] <= waitingMax;
  }

  #sweep(): void {
    if (this.#spending.length === 0) return;
    const full = this.#spentCount >= spentMax ? this.#spent.keys() : this.#fullLanes();
    this.#swept = [...full].sort((a, b) => a - b);
    for (const lane of this.#swept) {
      for (const [seq, queuePosition] of this.#spent.get(lane) ?? [])
        this.#remove.run(lane, queuePosition, seq);
    }
  }

  /** Checks only the lanes of this transaction, because the others did not grow. */
  #fullLanes(): ReadonlySet<number> {
    const full = new Set<number>();
    for (const { lane } of this.#spending) if (this.spentIn(lane) >= spentPerLane) full.add(lane);
    return full;
  }

  #forgetSwept(): void {
    if (this.#revived.length > 0) this.#revived = [];
    if (this.#spending.length === 0) return;
    this.#spending = [];
    for (const lane of this.#swept) {
      this.#spentCount -= this.spentIn(lane);
      this.#spent.delete(lane);
    }
    this.#swept = [];
  }

  #undo(): void {
    for (const entry of this.#spending) this.#forget(entry);
    for (const entry of this.#revived) this.#remember(entry);
    this.#spending = [];
    this.#revived = [];
    this.#swept = [];
  }

  #forget({ lane, seq }: LaneEntry): void {
    if (this.#spent.get(lane)?.delete(seq) === true) this.#spentCount -= 1;
  }

  #remember({ lane, queuePosition, seq }: LaneEntry): void {
    const known = this.#spent.get(lane);
    if (known === undefined) this.#spent.set(lane, new Map([[seq, queuePosition]]));
    else if (known.has(seq)) return;
    else known.set(seq, queuePosition);
    this.#spentCount += 1;
  }
}
