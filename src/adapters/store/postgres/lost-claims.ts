import { numbers } from "./columns.ts";
import type { Runner } from "./database.ts";

/** Says which leases a claim took, if it took any: no other claim of this process has this lane and this end. */
interface LostClaim {
  readonly lane: number;
  readonly leaseUntil: number;
}

/**
 * Longer than a statement may take and a connection may be cut, because a claim that was given up may still arrive at the
 * server.
 */
const rememberMs = 90_000;

const freeLostSql = `UPDATE posthorn.queue q SET owner = NULL, lease_until = NULL, fence = q.fence + 1
  FROM unnest($1::int[], $2::bigint[]) AS g (lane, lease_until)
  WHERE q.lane = g.lane AND q.lease_until = g.lease_until AND q.owner = $3`;

/**
 * Claims whose answer was lost with its connection. The server may have leased something that nobody knows of: until the
 * lease ran out it would stand still, and in an ordered lane what follows would overtake it. So whoever claims from the
 * lane next gives it back first.
 */
export class LostClaims {
  readonly #claims = new Map<LostClaim, number>();

  note(claims: readonly LostClaim[]): void {
    const forgetAtMs = performance.now() + rememberMs;
    for (const claim of claims) this.#claims.set(claim, forgetAtMs);
  }

  /** In the transaction of an ordered claim, which has locked the lane: what was lost is committed by then, or never. */
  async free(
    runner: Runner,
    { lanes, owner }: { readonly lanes: readonly number[]; readonly owner: number },
  ): Promise<void> {
    if (this.#claims.size === 0) return;
    const nowMs = performance.now();
    for (const [claim, forgetAtMs] of this.#claims) if (forgetAtMs <= nowMs) this.#claims.delete(claim);
    const lost = [...this.#claims.keys()].filter(({ lane }) => lanes.includes(lane));
    if (lost.length === 0) return;
    await runner.rows(freeLostSql, [
      numbers(lost.map(({ lane }) => lane)),
      numbers(lost.map(({ leaseUntil }) => leaseUntil)),
      owner,
    ]);
  }
}
