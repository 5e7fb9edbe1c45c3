import { StoreUnavailableError } from "../../../ports/store.ts";
import { numbers, plainWords } from "../driver/sql.ts";
import type { Runner } from "../driver/database.ts";
import type { LeasedDelivery } from "./event-rows.ts";

/** Identifies the leases that a claim acquired, if any: no other claim of this process has the same lane and expiry. */
interface LostClaim {
  readonly lane: number;
  readonly leaseUntil: number;
}

/** Longer than a lease, because a commit that waits for its standby may still be written until then. */
const rememberMs = 600_000;

/** Locks by position, as all statements do. */
const heldSql = (
  query: string,
): string => `WITH held AS MATERIALIZED (${query} ORDER BY q.delivery FOR UPDATE OF q)
  UPDATE posthorn.queue q SET owner = NULL, lease_until = NULL, lease_token = q.lease_token + 1
  FROM held WHERE q.delivery = held.delivery RETURNING`;

const freeClaimsSql = `${heldSql(`SELECT q.delivery, g.at FROM unnest($1::int[], $2::bigint[]) WITH ORDINALITY AS g (lane, lease_until, at)
  JOIN posthorn.queue q ON q.lane = g.lane AND q.lease_until = g.lease_until AND q.owner = $3`)} held.at::int`;

/**
 * Checks the id, because a position may be reused after a crash, and requires the first lease token, because leases
 * taken in a commit have it.
 */
const freeDeliveriesSql = `${heldSql(`SELECT q.delivery, g.at FROM unnest($1::bigint[], $2::uuid[]) WITH ORDINALITY AS g (seq, id, at)
  JOIN posthorn.deliveries d ON d.seq = g.seq AND d.id = g.id
  JOIN posthorn.queue q ON q.delivery = g.seq AND q.lease_token = 1 AND q.owner = $3`)} held.at::int`;

/**
 * Leases of claims and commits whose response was lost. The server may have written them without our knowledge. Until
 * they expire, their deliveries would be blocked, and in an ordered lane later deliveries would overtake them.
 * Therefore, the next claim from the lane releases them first.
 */
export class LostLeases {
  readonly #claims = new Map<LostClaim, number>();
  readonly #deliveries = new Map<LeasedDelivery, number>();

  /** Lanes that may have such leases. */
  get lanes(): ReadonlySet<number> {
    return new Set([...this.#claims.keys(), ...this.#deliveries.keys()].map(({ lane }) => lane));
  }

  noteClaims(error: unknown, claims: readonly LostClaim[]): void {
    note(this.#claims, error, claims);
  }

  noteDeliveries(error: unknown, deliveries: readonly LeasedDelivery[]): void {
    note(this.#deliveries, error, deliveries);
  }

  /**
   * Releases lost leases in these lanes. Called in the transaction of an ordered claim, which has locked the lanes: by
   * then, a commit whose response was lost is either committed or will never be. Call the returned function after the
   * commit: it ends the search for the leases that were found.
   */
  async free(runner: Runner, lanes: readonly number[], processNumber: number): Promise<() => void> {
    const found: (() => void)[] = [];
    const claims = lostIn(this.#claims, lanes);
    if (claims.length > 0) {
      const rows = await runner.rows<[at: number]>(freeClaimsSql, [
        numbers(claims.map(({ lane }) => lane)),
        numbers(claims.map(({ leaseUntil }) => leaseUntil)),
        processNumber,
      ]);
      found.push(() => forget(this.#claims, claims, rows));
    }
    const deliveries = lostIn(this.#deliveries, lanes);
    if (deliveries.length > 0) {
      const rows = await runner.rows<[at: number]>(freeDeliveriesSql, [
        numbers(deliveries.map(({ seq }) => seq)),
        plainWords(deliveries.map(({ id }) => id)),
        processNumber,
      ]);
      found.push(() => forget(this.#deliveries, deliveries, rows));
    }
    return () => {
      for (const each of found) each();
    };
  }
}

/**
 * Remembers leases that may have been written. Does so only if the outcome is unknown: a commit that was certainly not
 * written needs no lookup.
 */
function note<Lost>(known: Map<Lost, number>, error: unknown, lost: readonly Lost[]): void {
  if (!(error instanceof StoreUnavailableError) || error.outcome !== "unknown") return;
  const forgetAtMs = performance.now() + rememberMs;
  for (const each of lost) known.set(each, forgetAtMs);
}

function lostIn<Lost extends { readonly lane: number }>(
  known: Map<Lost, number>,
  lanes: readonly number[],
): readonly Lost[] {
  if (known.size === 0) return [];
  const nowMs = performance.now();
  for (const [lost, forgetAtMs] of known) if (forgetAtMs <= nowMs) known.delete(lost);
  const asked = new Set(lanes);
  return [...known.keys()].filter(({ lane }) => asked.has(lane));
}

/** A row that was found was written, and can be written only once. */
function forget<Lost>(
  known: Map<Lost, number>,
  lost: readonly Lost[],
  rows: readonly (readonly [at: number])[],
): void {
  for (const [at] of rows) {
    const found = lost[at - 1];
    if (found !== undefined) known.delete(found);
  }
}
