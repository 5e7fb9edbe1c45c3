import { Counts } from "./counts.ts";
import { addFact, bucketAt, type Fact, type FactKind, stepMs } from "./facts.ts";

/**
 * A bucket as it is written: the total that one process has counted so far. It replaces the earlier row of the bucket.
 */
export interface BucketRow {
  readonly kind: FactKind;
  /** Start of the bucket's minute, Unix milliseconds. */
  readonly start: number;
  /** Null for totals of all tenants. */
  readonly tenant: string | null;
  /** Null for totals of the whole tenant. */
  readonly subject: string | null;
  /** Distinguishes the rows of a minute that was counted again because the clock was set back. */
  readonly part: number;
  /** The number of the last commit whose counts are included. */
  readonly countedTo: number;
  readonly counts: Uint8Array;
}

interface OpenBucket extends Omit<BucketRow, "countedTo" | "counts"> {
  /**
   * The wider bucket that includes this one: the bucket of its tenant, then the bucket of all tenants. Null for the
   * latter.
   */
  readonly within: OpenBucket | null;
  readonly counts: Counts;
  /** When the first unwritten count was added, according to the wall clock. */
  unwrittenSince: number;
  /** The number of the commit of that count. */
  unwrittenFrom: number;
}

interface OpenMinute {
  readonly start: number;
  readonly part: number;
  readonly buckets: Map<string, OpenBucket>;
  readonly subjectsByTenant: Map<string, number>;
}

/**
 * Buckets of the current minute, and earlier buckets that have not been written yet. Counts committed facts, and
 * selects the rows to write: the row that has been unwritten longest first, each row once per second, and rows of a
 * past minute immediately.
 *
 * Commits are numbered. A fact is counted after its commit. The store keeps the fact until every bucket that counts it
 * has been written with `countedTo` at or above that number.
 */
export class OpenBuckets {
  readonly #minutes = new Map<number, OpenMinute>();
  /** Sorted by when the buckets began to differ from their written rows. */
  readonly #unwritten = new Set<OpenBucket>();
  readonly #typesPerTenantMax: number;
  #lastCommit = 0;
  #newestDropped = Number.NEGATIVE_INFINITY;
  #reopened = 0;

  constructor(typesPerTenantMax: number) {
    this.#typesPerTenantMax = typesPerTenantMax;
  }

  /** Counts the facts of a commit. */
  add(facts: readonly Fact[], commit: number, now: number): void {
    this.#lastCommit = Math.max(this.#lastCommit, commit);
    for (const fact of facts) {
      const minute = this.#minute(bucketAt(fact.at, "minute"));
      const own = this.#bucket(minute, fact);
      this.#count(own, fact, commit, now);
      // A delivery may be stopped because its event belongs to a different tenant than its webhook. The delivery then
      // counts for the event's tenant.
      let around = own.tenant === fact.tenant ? own.within : this.#bucket(minute, { ...fact, subject: null });
      for (; around !== null; around = around.within) this.#count(around, fact, commit, now);
    }
  }

  /**
   * The type under which an event is counted. Each tenant may have a few hundred types per minute; all others are
   * counted as one.
   */
  subjectOf(tenantId: string, eventType: string, at: number): string {
    const minute = this.#minute(bucketAt(at, "minute"));
    if (minute.buckets.has(nameOf("event", tenantId, eventType))) return eventType;
    const known = minute.subjectsByTenant.get(tenantId) ?? 0;
    return known < this.#typesPerTenantMax ? eventType : otherTypes;
  }

  /** Rows to write with the next commit. If the commit fails, return them with `putBack`. */
  take(now: number, limit: number): readonly BucketRow[] {
    const rows: BucketRow[] = [];
    for (const bucket of this.#unwritten) {
      const isPast = bucket.start + stepMs.minute <= now;
      const waited = now - bucket.unwrittenSince;
      if (rows.length === limit || (!isPast && waited >= 0 && waited < writtenEveryMs)) break;
      this.#unwritten.delete(bucket);
      rows.push(this.#row(bucket));
    }
    return rows;
  }

  /** Returns all unwritten rows, including recent ones. Used for shutdown. */
  takeAll(limit: number): readonly BucketRow[] {
    const taken = [...this.#unwritten].slice(0, limit);
    for (const bucket of taken) this.#unwritten.delete(bucket);
    return taken.map((bucket) => this.#row(bucket));
  }

  /** Marks rows as not written. Their counts start from the oldest commit with unwritten data. */
  putBack(rows: readonly BucketRow[], from: number, since: number): void {
    const younger = [...this.#unwritten];
    this.#unwritten.clear();
    for (const row of rows) {
      const bucket = this.#minutes.get(row.start)?.buckets.get(nameOf(row.kind, row.tenant, row.subject));
      if (bucket === undefined) continue;
      bucket.unwrittenFrom = from;
      bucket.unwrittenSince = since;
      this.#unwritten.add(bucket);
    }
    for (const bucket of younger) this.#unwritten.add(bucket);
  }

  /** The number of the last commit whose counts have been written in every bucket. */
  get writtenTo(): number {
    const [oldest] = this.#unwritten;
    return oldest === undefined ? this.#lastCommit : oldest.unwrittenFrom - 1;
  }

  /** When the oldest unwritten data was added, Unix milliseconds; null if there is none. */
  get unwrittenSince(): number | null {
    const [oldest] = this.#unwritten;
    return oldest === undefined ? null : oldest.unwrittenSince;
  }

  /** Drops past minutes that are written. Must not run while rows are being written, because `putBack` needs them. */
  dropWritten(now: number): void {
    for (const start of this.#minutes.keys()) {
      if (start + stepMs.minute + lateMs > now || this.#hasUnwritten(start)) continue;
      this.#minutes.delete(start);
      this.#newestDropped = Math.max(this.#newestDropped, start);
    }
  }

  #hasUnwritten(start: number): boolean {
    for (const bucket of this.#unwritten) if (bucket.start === start) return true;
    return false;
  }

  #minute(start: number): OpenMinute {
    const known = this.#minutes.get(start);
    if (known !== undefined) return known;
    // The earlier rows of this minute are already stored and must not be replaced, so the rows get a new part number.
    if (start <= this.#newestDropped) this.#reopened += 1;
    const part = start <= this.#newestDropped ? this.#reopened : 0;
    const minute = { start, part, buckets: new Map(), subjectsByTenant: new Map() };
    this.#minutes.set(start, minute);
    return minute;
  }

  #bucket(minute: OpenMinute, of: Pick<BucketRow, "kind" | "tenant" | "subject">): OpenBucket {
    const { kind, tenant, subject } = of;
    const name = nameOf(kind, of.tenant, of.subject);
    const known = minute.buckets.get(name);
    if (known !== undefined) return known;
    const { start, part } = minute;
    const around = tenant === null ? null : { kind, tenant: subject === null ? null : tenant, subject: null };
    const bucket = {
      kind,
      start,
      tenant,
      subject,
      part,
      within: around === null ? null : this.#bucket(minute, around),
      counts: new Counts(),
      unwrittenSince: 0,
      unwrittenFrom: 0,
    };
    minute.buckets.set(name, bucket);
    if (kind === "event" && subject !== null && tenant !== null)
      minute.subjectsByTenant.set(tenant, (minute.subjectsByTenant.get(tenant) ?? 0) + 1);
    return bucket;
  }

  #count(bucket: OpenBucket, fact: Fact, commit: number, now: number): void {
    addFact(bucket.counts, fact);
    if (this.#unwritten.has(bucket)) return;
    bucket.unwrittenSince = now;
    bucket.unwrittenFrom = commit;
    this.#unwritten.add(bucket);
  }

  #row({ kind, start, tenant, subject, part, counts }: OpenBucket): BucketRow {
    return { kind, start, tenant, subject, part, countedTo: this.#lastCommit, counts: counts.pack() };
  }
}

/** IDs and types contain no line feed, so the name is unique. */
function nameOf(kind: FactKind, tenant: string | null, subject: string | null): string {
  if (kind === "delivery") return subject ?? `\n${tenant ?? ""}`;
  return subject === null ? `\r\n${tenant ?? ""}` : `\r${tenant ?? ""}\n${subject}`;
}

/** Not a valid event type, so it cannot collide with one. */
export const otherTypes = "*";
const writtenEveryMs = 1_000;
/** The time of a commit is later than the times of its facts. */
const lateMs = 30_000;
