import { StoreUnavailableError } from "../../../ports/store.ts";
import { numbers, plainWords } from "./columns.ts";
import type { Runner } from "./database.ts";
import type { LeasedDelivery } from "./delivery-rows.ts";

/** Says which leases a claim took, if it took any: no other claim of this process has this lane and this end. */
interface LostClaim {
  readonly lane: number;
  readonly leaseUntil: number;
}

/** Longer than a lease lasts: until then a commit that waits for its standby may still be written. */
const rememberMs = 600_000;

/** By position, as everywhere. */
const heldSql = (
  query: string,
): string => `WITH held AS MATERIALIZED (${query} ORDER BY q.delivery FOR UPDATE OF q)
  UPDATE posthorn.queue q SET owner = NULL, lease_until = NULL, fence = q.fence + 1
  FROM held WHERE q.delivery = held.delivery RETURNING`;

const freeClaimsSql = `${heldSql(`SELECT q.delivery, g.at FROM unnest($1::int[], $2::bigint[]) WITH ORDINALITY AS g (lane, lease_until, at)
  JOIN posthorn.queue q ON q.lane = g.lane AND q.lease_until = g.lease_until AND q.owner = $3`)} held.at::int`;

/**
 * The id, because a position may be given out again after a crash; the first lease token, because that is what was
 * leased then.
 */
const freeDeliveriesSql = `${heldSql(`SELECT q.delivery, g.at FROM unnest($1::bigint[], $2::uuid[]) WITH ORDINALITY AS g (seq, id, at)
  JOIN posthorn.deliveries d ON d.seq = g.seq AND d.id = g.id
  JOIN posthorn.queue q ON q.delivery = g.seq AND q.fence = 1 AND q.owner = $3`)} held.at::int`;

/**
 * Leases of claims and commits whose answer was lost. The server may have written them, and nobody knows of them: until they
 * ran out their deliveries would stand still, and in an ordered lane what follows would overtake them. So whoever claims
 * from the lane next gives them back first.
 */
export class LostLeases {
  readonly #claims = new Map<LostClaim, number>();
  readonly #deliveries = new Map<LeasedDelivery, number>();

  /** Lanes in which something may be leased that nobody knows of. */
  get lanes(): ReadonlySet<number> {
    return new Set([...this.#claims.keys(), ...this.#deliveries.keys()].map(({ lane }) => lane));
  }

  noteClaims(error: unknown, claims: readonly LostClaim[]): void {
    note(this.#claims, { error, lost: claims });
  }

  noteDeliveries(error: unknown, deliveries: readonly LeasedDelivery[]): void {
    note(this.#deliveries, { error, lost: deliveries });
  }

  /**
   * In the transaction of an ordered claim, which has locked the lane: what was lost is committed by then, or never. The
   * result is to be called once that is committed: what was found then need not be looked for again.
   */
  async free(
    runner: Runner,
    { lanes, processNumber }: { readonly lanes: readonly number[]; readonly processNumber: number },
  ): Promise<() => void> {
    const found: (() => void)[] = [];
    const claims = lostIn(this.#claims, lanes);
    if (claims.length > 0) {
      const rows = await runner.rows<[at: number]>(freeClaimsSql, [
        numbers(claims.map(({ lane }) => lane)),
        numbers(claims.map(({ leaseUntil }) => leaseUntil)),
        processNumber,
      ]);
      found.push(() => forget(this.#claims, { lost: claims, rows }));
    }
    const deliveries = lostIn(this.#deliveries, lanes);
    if (deliveries.length > 0) {
      const rows = await runner.rows<[at: number]>(freeDeliveriesSql, [
        numbers(deliveries.map(({ seq }) => seq)),
        plainWords(deliveries.map(({ id }) => id)),
        processNumber,
      ]);
      found.push(() => forget(this.#deliveries, { lost: deliveries, rows }));
    }
    return () => {
      for (const each of found) each();
    };
  }
}

/** Only where the outcome is unknown: what certainly was not written needs no looking for. */
function note<Lost>(
  known: Map<Lost, number>,
  { error, lost }: { readonly error: unknown; readonly lost: readonly Lost[] },
): void {
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

/** What was found is written, and was written once. */
function forget<Lost>(
  known: Map<Lost, number>,
  found: { readonly lost: readonly Lost[]; readonly rows: readonly (readonly [at: number])[] },
): void {
  for (const [at] of found.rows) {
    const lost = found.lost[at - 1];
    if (lost !== undefined) known.delete(lost);
  }
}
