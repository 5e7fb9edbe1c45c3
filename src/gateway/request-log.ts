import { receivedBodiesMs } from "../core/gateway/request.ts";
import type { Clock } from "../ports/clock.ts";
import type { GatewayOutcome } from "../core/gateway/request.ts";
import type { Source } from "../core/gateway/source.ts";
import type { GatewayStore, ReceivedRequest } from "../ports/store/gateway.ts";
import type { Logger } from "../ports/telemetry.ts";
import { Loop } from "../ports/timing/loop.ts";

export interface RequestLogOptions {
  readonly store: Pick<GatewayStore, "addRequests" | "request" | "updateRequest">;
  readonly clock: Clock;
  readonly log: Logger;
}

const gatherMs = 200;
/** After a write that failed. */
const againMs = 5_000;
const atOnce = 500;
/** More than this waits only while the store is away. */
const waitingMax = 10_000;
/** Of one source in a day, per process. */
const bodiesMax = 100;
/** Of the bodies and headers of one source without proof that can be verified again. */
const unprovenBodyBytesMax = 384 * 1024;

/** Rows of one source in a minute of one kind, and of all kinds together; the rest is counted. */
const unprovenRows = { ofKind: 10, ofSource: 40 } as const;
const refusedRows = { ofKind: 100, ofSource: 200 } as const;
const minuteMs = 60_000;
/** How soon counts are in the store; a listing does not wait for that. */
const countMs = 5_000;

/** Of one tenant in a day, per process; beyond that rows have neither headers nor body, and fewer are kept. */
const unprovenBytesMax = 32 * 1024 * 1024;
const provenBytesMax = 1024 * 1024 * 1024;
const dayMs = 86_400_000;
/** What a row takes besides its texts. */
const rowBytes = 512;

/** What requests have in common that are counted together. */
export interface RequestKind {
  readonly outcome: GatewayOutcome;
  readonly cause: string | null;
  readonly isProven: boolean;
}

/** The rows of one kind in one minute. */
interface Counted {
  rows: number;
  /** The newest row, which says how many more there were. */
  last: string | null;
  more: number;
}

interface SourceMinute {
  readonly since: number;
  rows: number;
  readonly kinds: Map<string, Counted>;
}

/** Writes down what came in, a moment later and many at once: no sender waits for it. What the store cannot take is lost. */
export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #waiting: ReceivedRequest[] = [];
  #dropped = 0;
  readonly #bodies = new Map<string, { count: number; bytes: number; since: number }>();
  readonly #minutes = new Map<string, SourceMinute>();
  readonly #tenants = new Map<string, { since: number; proven: number; unproven: number }>();
  /** How many more there were, by row. */
  #more = new Map<string, number>();
  readonly #writing: Loop;

  constructor(options: RequestLogOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#writing = new Loop({
      clock,
      round: () => this.flush(),
      failed: (error) => {
        log.warn({ err: String(error) }, "requests of the gateway could not be written down");
        // No other request may come for long, and people look for those that came.
        if (this.#waiting.length > 0) this.#writing.soon(againMs);
      },
    });
  }

  async stop(): Promise<void> {
    await this.#writing.stop();
    await this.flush().catch(() => undefined);
  }

  /**
   * Whether a request gets a row of its own. Every message that was taken does; of the others so many in a minute as help to
   * find out what is wrong, and the rest is counted at the newest of these rows.
   */
  admits({ id, tenantId }: Pick<Source, "id" | "tenantId">, kind: RequestKind): boolean {
    const { outcome, isProven } = kind;
    const isTaken = outcome === "accepted" || outcome === "duplicate";
    if (isProven && (isTaken || outcome === "failed")) return true;
    const now = this.#options.clock.monotonicMs();
    let minute = this.#minutes.get(id);
    if (minute === undefined || now - minute.since >= minuteMs) {
      minute = { since: now, rows: 0, kinds: new Map() };
      this.#minutes.set(id, minute);
    }
    const name = kindName(kind);
    let counted = minute.kinds.get(name);
    if (counted === undefined) minute.kinds.set(name, (counted = { rows: 0, last: null, more: 0 }));
    const { ofKind, ofSource } = isProven ? refusedRows : unprovenRows;
    const rowsMax = this.isBrief({ tenantId }, isProven) ? 1 : ofKind;
    // The first of each kind is always there: a flood of one kind hides no other.
    const isKept = counted.rows === 0 || (counted.rows < rowsMax && minute.rows < ofSource);
    if (isKept) {
      counted.rows += 1;
      minute.rows += 1;
      return true;
    }
    if (counted.last !== null && (this.#more.size < waitingMax || this.#more.has(counted.last))) {
      this.#more.set(counted.last, (this.#more.get(counted.last) ?? 0) + 1);
      this.#writing.soon(countMs);
    }
    return false;
  }

  /** The tenant has used up what its rows may take today. */
  isBrief({ tenantId }: Pick<Source, "tenantId">, isProven: boolean): boolean {
    const used = this.#tenants.get(tenantId);
    if (used === undefined || this.#options.clock.monotonicMs() - used.since >= dayMs) return false;
    return isProven ? used.proven >= provenBytesMax : used.unproven >= unprovenBytesMax;
  }

  charge({ tenantId, path, headers, sealedHeaders, body }: ReceivedRequest, isProven: boolean): void {
    const now = this.#options.clock.monotonicMs();
    let used = this.#tenants.get(tenantId);
    if (used === undefined || now - used.since >= dayMs)
      this.#tenants.set(tenantId, (used = { since: now, proven: 0, unproven: 0 }));
    const texts = headers.reduce(
      (sum, text) => sum + text.length,
      path.length + (sealedHeaders?.length ?? 0),
    );
    const bytes = rowBytes + texts + (body?.byteLength ?? 0);
    if (isProven) used.proven += bytes;
    else used.unproven += bytes;
  }

  add(request: ReceivedRequest, kind: RequestKind): void {
    const counted = this.#minutes.get(request.sourceId)?.kinds.get(kindName(kind));
    if (counted !== undefined) counted.last = request.id;
    if (this.#waiting.length >= waitingMax) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(request);
    this.#writing.soon(gatherMs);
  }

  /** Whether one more body of what became no event may be kept. */
  keepsBody(
    sourceId: string,
    { bytes, isProven }: { readonly bytes: number; readonly isProven: boolean } = {
      bytes: 0,
      isProven: true,
    },
  ): boolean {
    const now = this.#options.clock.now();
    const key = `${sourceId} ${isProven}`;
    let kept = this.#bodies.get(key);
    if (kept === undefined || now - kept.since > receivedBodiesMs)
      this.#bodies.set(key, (kept = { count: 0, bytes: 0, since: now }));
    if (kept.count >= bodiesMax || (!isProven && kept.bytes + bytes > unprovenBodyBytesMax)) return false;
    kept.count += 1;
    kept.bytes += bytes;
    return true;
  }

  /** Everything that was added is in the store, or the store cannot take it. */
  async flush(): Promise<void> {
    const { store, log } = this.#options;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, atOnce);
      try {
        await store.addRequests(batch);
      } catch (error) {
        if (this.#waiting.length + batch.length <= waitingMax) this.#waiting.unshift(...batch);
        throw error;
      }
    }
    await this.#writeMore();
    if (this.#dropped === 0) return;
    log.warn({ count: this.#dropped }, "requests of the gateway were not written down");
    this.#dropped = 0;
  }

  /** Adds what was counted to the rows, as they are by now: a replay may have changed them. */
  async #writeMore(): Promise<void> {
    const { store } = this.#options;
    const counts = this.#more;
    this.#more = new Map();
    for (const [id, count] of counts) {
      try {
        const row = await store.request(id);
        if (row !== null) await store.updateRequest({ ...row, more: row.more + count });
        counts.delete(id);
      } catch (error) {
        for (const [left, more] of counts) this.#more.set(left, (this.#more.get(left) ?? 0) + more);
        throw error;
      }
    }
  }
}

function kindName({ outcome, cause, isProven }: RequestKind): string {
  return `${outcome} ${cause ?? ""} ${isProven}`;
}
