import type { LaneKey, OrderingGuarantee } from "../../../domain/webhook.ts";
import { decode, orderingCodes, storable } from "../../column-values.ts";
import { numbers, texts } from "./sql.ts";
import type { Runner } from "./database.ts";

/**
 * A bounded cache with two generations. When the younger generation is full, it becomes the older one, and the previous
 * older one is dropped. An entry that was just read or written therefore survives at least `entriesMax` more entries,
 * regardless of how many entries other callers add.
 */
class RecentMap<Key, Entry> {
  readonly #entriesMax: number;
  #young = new Map<Key, Entry>();
  #old = new Map<Key, Entry>();

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get(key: Key): Entry | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  has(key: Key): boolean {
    return this.get(key) !== undefined;
  }

  set(key: Key, entry: Entry): void {
    if (this.#young.size >= this.#entriesMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, entry);
  }
}

/** Bounds memory if a client keeps inventing event types; dropped strings are read again when needed. */
const cachedMax = 200_000;

/**
 * Strings that repeat in many rows. They are stored once in `posthorn.strings` and referenced by number. Strings are
 * never removed, so the cache stays valid regardless of what other processes do. New strings are written before the
 * transaction that uses them.
 */
export class StringTable {
  readonly #database: Runner;
  readonly #refs = new RecentMap<string, number>(cachedMax);
  readonly #texts = new RecentMap<number, string>(cachedMax);

  constructor(database: Runner) {
    this.#database = database;
  }

  /** Assigns a number to every string; after that, `ref` finds the number. */
  async ensure(strings: Iterable<string>): Promise<void> {
    const missing = this.#unknown(strings);
    if (missing.length === 0) return;
    await this.#read(missing);
    const added = this.#unknown(missing);
    if (added.length === 0) return;
    await this.#database.rows(
      `INSERT INTO posthorn.strings (string) SELECT string FROM unnest($1::text[]) string ORDER BY string
       ON CONFLICT DO NOTHING`,
      [texts(added)],
    );
    await this.#read(added);
  }

  /** Reads the numbers of strings without creating any. */
  async lookUp(strings: Iterable<string>): Promise<void> {
    const missing = this.#unknown(strings);
    if (missing.length > 0) await this.#read(missing);
  }

  /** Reads the strings that belong to numbers. */
  async load(refs: Iterable<number>): Promise<void> {
    const missing = [...new Set(refs)].filter((ref) => !this.#texts.has(ref));
    if (missing.length === 0) return;
    const rows = await this.#database.rows<[ref: number, string: string]>(
      "SELECT ref, string FROM posthorn.strings WHERE ref = ANY ($1::int[])",
      [numbers(missing)],
    );
    for (const [ref, string] of rows) this.#keep(ref, string);
  }

  /** The number of a string after `ensure` or `lookUp`; null when no row can contain it. */
  find(string: string): number | null {
    return this.#refs.get(storable(string)) ?? null;
  }

  ref(string: string): number {
    const ref = this.find(string);
    if (ref === null) throw new RangeError(`no number for the string ${string}`);
    return ref;
  }

  text(ref: number): string {
    const text = this.#texts.get(ref);
    if (text === undefined) throw new RangeError(`no string ${ref}`);
    return text;
  }

  #unknown(strings: Iterable<string>): readonly string[] {
    const unknown = new Set<string>();
    for (const string of strings) {
      if (!this.#refs.has(string) && !this.#refs.has(storable(string))) unknown.add(storable(string));
    }
    return [...unknown];
  }

  async #read(strings: readonly string[]): Promise<void> {
    const rows = await this.#database.rows<[ref: number, string: string]>(
      "SELECT ref, string FROM posthorn.strings WHERE string = ANY ($1::text[])",
      [texts(strings)],
    );
    for (const [ref, string] of rows) this.#keep(ref, string);
  }

  #keep(ref: number, string: string): void {
    this.#refs.set(string, ref);
    this.#texts.set(ref, string);
  }
}

/**
 * A lane as stored. Deliveries in `ordered` lanes are sorted by position; in other lanes, they are sorted by priority
 * and due time.
 */
export interface StoredLane {
  readonly ref: number;
  /** The number that represents the webhook's id. */
  readonly webhook: number;
  readonly ordered: boolean;
  readonly key: LaneKey;
}

type LaneRow = [ref: number, webhook: number, ordering: number, eventType: number];

/** Lanes by key and by number. Like strings, they are never removed. */
export class Lanes {
  readonly #database: Runner;
  readonly #strings: StringTable;
  readonly #byKey = new RecentMap<string, StoredLane>(cachedMax);
  readonly #byRef = new RecentMap<number, StoredLane>(cachedMax);

  constructor(database: Runner, strings: StringTable) {
    this.#database = database;
    this.#strings = strings;
  }

  /** Creates missing lanes; after that, `get` finds all of them. */
  async ensure(keys: Iterable<LaneKey>): Promise<void> {
    const missing = this.#unknown(keys);
    if (missing.length === 0) return;
    await this.#strings.ensure(stringsOf(missing));
    await this.#read(missing);
    const added = this.#unknown(missing);
    if (added.length === 0) return;
    await this.#database.rows(
      `INSERT INTO posthorn.lanes (webhook, ordering, event_type)
       SELECT * FROM unnest($1::int[], $2::smallint[], $3::int[]) ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING`,
      this.#columns(added),
    );
    await this.#read(added);
  }

  /** Reads lanes without creating any. */
  async lookUp(keys: Iterable<LaneKey>): Promise<void> {
    const missing = this.#unknown(keys);
    if (missing.length === 0) return;
    await this.#strings.lookUp(stringsOf(missing));
    await this.#read(
      missing.filter((key) => stringsOf([key]).every((string) => this.#strings.find(string) !== null)),
    );
  }

  async load(refs: Iterable<number>): Promise<void> {
    const missing = [...new Set(refs)].filter((ref) => !this.#byRef.has(ref));
    if (missing.length === 0) return;
    const rows = await this.#database.rows<LaneRow>(
      "SELECT ref, webhook, ordering, event_type FROM posthorn.lanes WHERE ref = ANY ($1::int[])",
      [numbers(missing)],
    );
    await this.#keep(rows);
  }

  /** The lane of a key after `ensure` or `lookUp`; null when nothing was ever written to it. */
  find(key: LaneKey): StoredLane | null {
    return this.#byKey.get(nameOf(key)) ?? null;
  }

  get(key: LaneKey): StoredLane {
    const lane = this.find(key);
    if (lane === null) throw new RangeError(`no lane of webhook ${key.webhookId}`);
    return lane;
  }

  byRef(ref: number): StoredLane {
    const lane = this.#byRef.get(ref);
    if (lane === undefined) throw new RangeError(`no lane ${ref}`);
    return lane;
  }

  #unknown(keys: Iterable<LaneKey>): readonly LaneKey[] {
    const unknown = new Map<string, LaneKey>();
    for (const key of keys) {
      const name = nameOf(key);
      if (!this.#byKey.has(name)) unknown.set(name, key);
    }
    return [...unknown.values()];
  }

  async #read(keys: readonly LaneKey[]): Promise<void> {
    if (keys.length === 0) return;
    const rows = await this.#database.rows<LaneRow>(
      `SELECT l.ref, l.webhook, l.ordering, l.event_type
       FROM unnest($1::int[], $2::smallint[], $3::int[]) AS k (webhook, ordering, event_type)
       JOIN posthorn.lanes l USING (webhook, ordering, event_type)`,
      this.#columns(keys),
    );
    await this.#keep(rows);
  }

  #columns(keys: readonly LaneKey[]): readonly string[] {
    return [
      numbers(keys.map((key) => this.#strings.ref(key.webhookId))),
      numbers(keys.map((key) => orderingCodes.encode[key.ordering])),
      numbers(keys.map((key) => (key.eventType === null ? 0 : this.#strings.ref(key.eventType)))),
    ];
  }

  async #keep(rows: readonly LaneRow[]): Promise<void> {
    await this.#strings.load(
      rows.flatMap(([, webhook, , type]) => (type === 0 ? [webhook] : [webhook, type])),
    );
    for (const [ref, webhook, code, eventType] of rows) {
      const ordering: OrderingGuarantee = decode(orderingCodes, code);
      const key: LaneKey = {
        webhookId: this.#strings.text(webhook),
        ordering,
        eventType: eventType === 0 ? null : this.#strings.text(eventType),
      };
      const lane = { ref, webhook, ordered: ordering !== "none", key };
      this.#byRef.set(ref, lane);
      this.#byKey.set(nameOf(key), lane);
    }
  }
}

function stringsOf(keys: readonly LaneKey[]): readonly string[] {
  return keys.flatMap(({ webhookId, eventType }) =>
    eventType === null ? [webhookId] : [webhookId, eventType],
  );
}

/** Webhook ids contain no line feed, and an ordering is never empty. */
function nameOf(key: LaneKey): string {
  const { webhookId, ordering, eventType } = key;
  if (eventType === null) return ordering === "none" ? webhookId : `${webhookId}\n${ordering}`;
  return `${webhookId}\n${ordering}\n${storable(eventType)}`;
}
