import { clockDifferenceMs } from "../../../domain/due-times.ts";
import type {
  BringNearResult,
  BringNearStep,
  CancelStep,
  ExpireStep,
  HistoryStep,
  StepResult,
  UpkeepStore,
} from "../../../ports/store/upkeep.ts";
import { stateCodes, tierSpan } from "../../column-values.ts";
import type { StoreState } from "../state.ts";
import { Expiry } from "./expiry.ts";
import type { Partitions } from "./partitions.ts";
import { Retention } from "./retention.ts";

const { pending, failed } = stateCodes.encode;

/**
 * Applies `dueBroughtNear` of domain/due-times.ts to a window of the queue above position $2. Attempts are looked up
 * only for retries that are not due, and only in future partitions. As in a settlement, `queue` is locked before
 * `deliveries`; rows that are leased or locked are skipped.
 */
const bringNearSql = `WITH seen AS MATERIALIZED (
    SELECT q.delivery, d.state, d.attempt_count, d.created_at, d.due_at, d.retried_at
    FROM (SELECT delivery FROM posthorn.queue WHERE delivery > $2 ORDER BY delivery LIMIT $3) AS q
    JOIN posthorn.deliveries d ON d.seq = q.delivery),
  ahead AS MATERIALIZED (
    SELECT delivery, $1::bigint + greatest(0, due_at - created_at) AS due FROM seen
      WHERE attempt_count = 0 AND retried_at IS NULL AND created_at > $1 + ${clockDifferenceMs}
    UNION ALL SELECT delivery, $1 FROM seen
      WHERE retried_at IS NOT NULL AND state = ${pending} AND due_at > $1 + ${clockDifferenceMs}
    UNION ALL SELECT s.delivery, $1 + greatest(0, s.due_at - a.executed_at) FROM seen s CROSS JOIN LATERAL (
      SELECT l.executed_at, l.next_retry_at FROM posthorn.attempts l
      WHERE l.delivery = s.delivery AND l.executed_at > $1 + ${clockDifferenceMs} ORDER BY l.number DESC LIMIT 1) AS a
      WHERE s.state = ${failed} AND s.due_at > $1 AND a.next_retry_at = s.due_at),
  locked AS MATERIALIZED (
    SELECT q.delivery, q.lane, a.due FROM posthorn.queue q JOIN ahead a USING (delivery)
    WHERE q.owner IS NULL OR q.lease_until <= $1 ORDER BY q.delivery FOR UPDATE OF q SKIP LOCKED),
  moved AS (
    UPDATE posthorn.queue q SET queue_position = CASE WHEN q.ordered THEN q.queue_position
      ELSE q.priority * ${tierSpan}::bigint + least(greatest(l.due, 0), ${tierSpan - 1}) END
    FROM locked l WHERE q.delivery = l.delivery),
  done AS (
    UPDATE posthorn.deliveries d SET due_at = l.due, created_at = least(d.created_at, $1),
      retried_at = CASE WHEN d.retried_at > $1 THEN $1 ELSE d.retried_at END
    FROM locked l WHERE d.seq = l.delivery RETURNING d.lane)
  SELECT (SELECT count(*) FROM seen), (SELECT max(delivery) FROM seen), (SELECT count(*) FROM done),
    (SELECT string_agg(DISTINCT lane::text, ',') FROM done)`;

type StepRow = [seen: number, reached: number | null, changed: number, lanes: string | null];

/** Corrects due times that were written while a clock was ahead. */
async function bringNear(
  { maintenance, announcer }: StoreState,
  { now, after, limit }: BringNearStep,
): Promise<BringNearResult> {
  const [row] = await maintenance.transaction((transaction) =>
    transaction.rows<StepRow>(bringNearSql, [now, after === null ? 0 : Number(after), limit]),
  );
  const [seen, reached, changed, lanes] = row ?? [0, null, 0, null];
  if (lanes !== null) announcer.announce(lanes.split(",").map(Number));
  return { changed, next: seen < limit || reached === null ? null : String(reached) };
}

/** Uses the summary index, so it reads only a few pages. */
async function hasFutureDeliveries({ maintenance }: StoreState, now: number): Promise<boolean> {
  const [row] = await maintenance.rows<[any: boolean]>(
    "SELECT EXISTS (SELECT FROM posthorn.deliveries WHERE created_at > $1)",
    [now + clockDifferenceMs],
  );
  return row?.[0] ?? false;
}

/** Upkeep, one transaction per step. */
export class PostgresUpkeep implements UpkeepStore {
  readonly #state: StoreState;
  readonly #partitions: Partitions;
  readonly #expiry: Expiry;
  readonly #retention: Retention;

  constructor(state: StoreState, partitions: Partitions) {
    this.#state = state;
    this.#partitions = partitions;
    this.#expiry = new Expiry(state);
    this.#retention = new Retention(state, partitions);
  }

  async expire(step: ExpireStep): Promise<StepResult> {
    return this.#expiry.expire(step);
  }

  async hasFutureDeliveries(now: number): Promise<boolean> {
    return hasFutureDeliveries(this.#state, now);
  }

  async bringNear(step: BringNearStep): Promise<BringNearResult> {
    return bringNear(this.#state, step);
  }

  async cancelWebhook(step: CancelStep): Promise<StepResult> {
    return this.#expiry.cancelWebhook(step);
  }

  async forgetPayloads(createdBefore: number, limit: number): Promise<StepResult> {
    return this.#retention.forgetPayloads({ createdBefore, limit });
  }

  async forgetHistory(step: HistoryStep): Promise<StepResult> {
    return this.#retention.forgetHistory(step);
  }

  async forgetAudit(createdBefore: number, limit: number): Promise<StepResult> {
    return this.#retention.forgetAudit(createdBefore, limit);
  }

  async forgetKeys(now: number, limit: number): Promise<StepResult> {
    await this.#partitions.ensure(now);
    return this.#retention.forgetKeys(now, limit);
  }
}
