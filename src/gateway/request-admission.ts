import type { GatewayOutcome } from "../core/gateway/request.ts";
import type { Source } from "../core/gateway/source.ts";
import type { Clock } from "../ports/clock.ts";
import type { ReceivedRequest } from "../ports/store/gateway.ts";

/** Log rows per source and minute, by kind and in total; further requests are only counted. */
const unprovenRows = { ofKind: 10, ofSource: 40 } as const;
const refusedRows = { ofKind: 600, ofSource: 1_200 } as const;
const minuteMs = 60_000;
/** Per tenant, day and process; beyond that, rows have neither headers nor body, and fewer are kept. */
const unprovenBytesMax = 32 * 1024 * 1024;
const provenBytesMax = 1024 * 1024 * 1024;
const dayMs = 86_400_000;
/** Size of a row without its texts. */
const rowBytes = 512;

/** The key by which requests are counted together. */
export interface RequestKind {
  readonly outcome: GatewayOutcome;
  readonly cause: string | null;
  readonly isProven: boolean;
}

/** The rows of one kind in one minute. */
interface Counted {
  rows: number;
  /** The newest row, which counts the requests without a row. */
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
   * True if a request gets a row; otherwise the ID of the row that counts it, if there is one. Every accepted message
   * gets a row. Other requests get a limited number of rows per minute, which is enough for debugging; the rest are
   * counted at the newest of these rows.
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
    // The first of each kind always gets a row: a flood of one kind hides no other.
    const isKept = counted.rows === 0 || (counted.rows < rowsMax && minute.rows < ofSource);
    if (isKept) {
      counted.rows += 1;
      minute.rows += 1;
      return true;
    }
    return counted.last ?? false;
  }

  /** The tenant has used its daily budget for rows. */
  isBrief({ tenantId }: Pick<Source, "tenantId">, isProven: boolean): boolean {
    const used = this.#tenants.get(tenantId);
    if (used === undefined || this.#clock.monotonicMs() - used.since >= dayMs) return false;
    return isProven ? used.proven >= provenBytesMax : used.unproven >= unprovenBytesMax;
  }

  /**
   * Call after adding a row: further requests of its kind are counted at it, and its size is charged to the tenant.
   */
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
