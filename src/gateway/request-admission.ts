import type { GatewayOutcome } from "../core/gateway/request.ts";
import type { Source } from "../core/gateway/source.ts";
import type { Clock } from "../ports/clock.ts";
import type { ReceivedRequest } from "../ports/store/gateway.ts";

/** Rows of one source in a minute of one kind, and of all kinds together; the rest is counted. */
const unprovenRows = { ofKind: 10, ofSource: 40 } as const;
const refusedRows = { ofKind: 600, ofSource: 1_200 } as const;
const minuteMs = 60_000;
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
}

interface SourceMinute {
  readonly since: number;
  rows: number;
  readonly kinds: Map<string, Counted>;
}

/** Decides which requests get a row in the request log, and how much of them it keeps. */
export class RequestAdmission {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #minutes = new Map<string, SourceMinute>();
  readonly #tenants = new Map<string, { since: number; proven: number; unproven: number }>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /**
   * Whether a request gets a row of its own; else the id of the row at which it is counted, if there is one. Every message that was taken does; of the others so many in a minute as help to
   * find out what is wrong, and the rest is counted at the newest of these rows.
   */
  admits({ id, tenantId }: Pick<Source, "id" | "tenantId">, kind: RequestKind): boolean | string {
    const { outcome, isProven } = kind;
    const isTaken = outcome === "accepted" || outcome === "duplicate";
    if (isProven && (isTaken || outcome === "failed")) return true;
    const now = this.#clock.monotonicMs();
    let minute = this.#minutes.get(id);
    if (minute === undefined || now - minute.since >= minuteMs) {
      minute = { since: now, rows: 0, kinds: new Map() };
      this.#minutes.set(id, minute);
    }
    const name = kindName(kind);
    let counted = minute.kinds.get(name);
    if (counted === undefined) minute.kinds.set(name, (counted = { rows: 0, last: null }));
    const { ofKind, ofSource } = isProven ? refusedRows : unprovenRows;
    const rowsMax = this.isBrief({ tenantId }, isProven) ? 1 : ofKind;
    // The first of each kind is always there: a flood of one kind hides no other.
    const isKept = counted.rows === 0 || (counted.rows < rowsMax && minute.rows < ofSource);
    if (isKept) {
      counted.rows += 1;
      minute.rows += 1;
      return true;
    }
    return counted.last ?? false;
  }

  /** The tenant has used up what its rows may take today. */
  isBrief({ tenantId }: Pick<Source, "tenantId">, isProven: boolean): boolean {
    const used = this.#tenants.get(tenantId);
    if (used === undefined || this.#clock.monotonicMs() - used.since >= dayMs) return false;
    return isProven ? used.proven >= provenBytesMax : used.unproven >= unprovenBytesMax;
  }

  /** The row was added: requests that are not admitted are counted at it, and the tenant pays for it. */
  added(row: ReceivedRequest, kind: RequestKind): void {
    const counted = this.#minutes.get(row.sourceId)?.kinds.get(kindName(kind));
    if (counted !== undefined) counted.last = row.id;
    this.charge(row, kind.isProven);
  }

  charge({ tenantId, path, headers, sealedHeaders, body }: ReceivedRequest, isProven: boolean): void {
    const now = this.#clock.monotonicMs();
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
}

function kindName({ outcome, cause, isProven }: RequestKind): string {
  return `${outcome} ${cause ?? ""} ${isProven}`;
}
