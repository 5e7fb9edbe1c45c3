import type { StatementSync } from "node:sqlite";
import type { LaneKey, OrderingGuarantee } from "../../../domain/webhook.ts";
import { decode, orderingCodes } from "../../column-values.ts";
import type { Connection } from "./connection.ts";

/** Bounds memory if a client keeps inventing event types; the tables are read again on the next use. */
const cachedMax = 200_000;

/** Strings that repeat in many rows. They are stored once in `strings` and referenced by number. */
export class StringTable {
  readonly #find: StatementSync;
  readonly #read: StatementSync;
  readonly #insert: StatementSync;
  readonly #refs = new Map<string, number>();
  readonly #texts = new Map<number, string>();

  constructor(connection: Connection) {
    this.#find = connection.prepare("SELECT ref FROM strings WHERE string = ?");
    this.#read = connection.prepare("SELECT string FROM strings WHERE ref = ?");
    this.#insert = connection.prepare("INSERT INTO strings (string) VALUES (?)");
    connection.join({ reload: () => this.#clear() });
  }

  /** The number of a string, or null when no row can contain it. */
  find(string: string): number | null {
    const known = this.#refs.get(string);
    if (known !== undefined) return known;
    const row = this.#find.get(string) as unknown as [ref: number] | undefined;
    return row === undefined ? null : this.#keep(row[0], string);
  }

  /** The number of a string, assigned now if it is new. Only inside a write. */
  ensure(string: string): number {
    return (
      this.#refs.get(string) ??
      this.find(string) ??
      this.#keep(Number(this.#insert.run(string).lastInsertRowid), string)
    );
  }

  text(ref: number): string {
    const known = this.#texts.get(ref);
    if (known !== undefined) return known;
    const row = this.#read.get(ref) as unknown as [string: string] | undefined;
    if (row === undefined) throw new RangeError(`no string ${ref}`);
    this.#keep(ref, row[0]);
    return row[0];
  }

  #keep(ref: number, string: string): number {
    if (this.#texts.size >= cachedMax) this.#clear();
    this.#refs.set(string, ref);
    this.#texts.set(ref, string);
    return ref;
  }

  #clear(): void {
    this.#refs.clear();
    this.#texts.clear();
  }
}

/**
 * A lane as stored. Deliveries in `ordered` lanes are sorted by position; in other lanes, they are sorted by priority
 * and due time.
 */
export interface StoredLane {
  readonly ref: number;
  readonly webhook: number;
  readonly ordered: boolean;
  readonly ordering: OrderingGuarantee;
  /** 0 if the lane contains all types. */
  readonly eventType: number;
}

type LaneRow = [ref: number, webhook: number, ordering: number, eventType: number];

export class Lanes {
  readonly #strings: StringTable;
  readonly #find: StatementSync;
  readonly #read: StatementSync;
  readonly #insert: StatementSync;
  readonly #byRef = new Map<number, StoredLane>();
  /**
   * Lanes without an event type, keyed by ordering, then by webhook. The common case needs one lookup and no composite
   * key.
   */
  readonly #whole = new Map<string, Map<string, StoredLane>>();

  constructor(connection: Connection, strings: StringTable) {
    const columns = "SELECT ref, webhook, ordering, event_type FROM lanes";
    this.#strings = strings;
    this.#find = connection.prepare(`${columns} WHERE webhook = ? AND ordering = ? AND event_type = ?`);
    this.#read = connection.prepare(`${columns} WHERE ref = ?`);
    this.#insert = connection.prepare("INSERT INTO lanes (webhook, ordering, event_type) VALUES (?, ?, ?)");
    connection.join({ reload: () => this.#clear() });
  }

  /** The lane of a key, or null when nothing was ever written to it. */
  find(key: LaneKey): StoredLane | null {
    const known = this.#whole.get(cacheName(key))?.get(key.webhookId);
    if (known !== undefined) return known;
    const webhook = this.#strings.find(key.webhookId);
    const eventType = key.eventType === null ? 0 : this.#strings.find(key.eventType);
    if (webhook === null || eventType === null) return null;
    const row = this.#find.get(webhook, orderingCodes.encode[key.ordering], eventType) as unknown as LaneRow;
    return row === undefined ? null : this.#keep(row, key);
  }

  /** The lane of a key, created now if it is new. Only inside a write. */
  ensure(key: LaneKey): StoredLane {
    const known = this.find(key);
    if (known !== null) return known;
    const webhook = this.#strings.ensure(key.webhookId);
    const ordering = orderingCodes.encode[key.ordering];
    const eventType = key.eventType === null ? 0 : this.#strings.ensure(key.eventType);
    const { lastInsertRowid } = this.#insert.run(webhook, ordering, eventType);
    return this.#keep([Number(lastInsertRowid), webhook, ordering, eventType], key);
  }

  get(ref: number): StoredLane {
    const known = this.#byRef.get(ref);
    if (known !== undefined) return known;
    const row = this.#read.get(ref) as unknown as LaneRow | undefined;
    if (row === undefined) throw new RangeError(`no lane ${ref}`);
    const lane = storedLane(row);
    this.#byRef.set(ref, lane);
    return lane;
  }

  key(ref: number): LaneKey {
    const lane = this.get(ref);
    return {
      webhookId: this.#strings.text(lane.webhook),
      ordering: lane.ordering,
      eventType: lane.eventType === 0 ? null : this.#strings.text(lane.eventType),
    };
  }

  #keep(row: LaneRow, key: LaneKey): StoredLane {
    if (this.#byRef.size >= cachedMax) this.#clear();
    const lane = storedLane(row);
    this.#byRef.set(lane.ref, lane);
    const name = cacheName(key);
    const group = this.#whole.get(name);
    if (group === undefined) this.#whole.set(name, new Map([[key.webhookId, lane]]));
    else group.set(key.webhookId, lane);
    return lane;
  }

  #clear(): void {
    this.#byRef.clear();
    this.#whole.clear();
  }
}

/** An ordering never contains `:`, so the two kinds of names cannot collide. */
function cacheName(key: LaneKey): string {
  return key.eventType === null ? key.ordering : `${key.ordering}:${key.eventType}`;
}

function storedLane(row: LaneRow): StoredLane {
  const ordering = decode(orderingCodes, row[2]);
  return { ref: row[0], webhook: row[1], ordering, ordered: ordering !== "none", eventType: row[3] };
}
