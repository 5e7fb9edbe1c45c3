import { endings } from "../../../domain/delivery-state.ts";
import { endingKey } from "../../../domain/statistics/facts.ts";
import type { CancelStep, ExpiredDelivery, ExpireStep, StepResult } from "../../../ports/store/upkeep.ts";
import { endingSql } from "../../column-values.ts";
import { eventCalls } from "../../documents/operational-events.ts";
import { numbers, runCalls } from "../driver/sql.ts";
import type { Transaction } from "../driver/database.ts";
import { endedColumn, endedFrom, writeEnded } from "../events/hand-endings.ts";
import { addToCounters, deadLetterKind, hasWork } from "../events/lane-counters.ts";
import { endedUnder } from "../events/settle.ts";
import type { StoreState } from "../state.ts";
import { Sweep, toVisit, type Visit, type VisitRow, windowRows } from "./retention.ts";

const isFree = "(q.owner IS NULL OR q.lease_until <= $1)";

/**
 * Expires a window of the queue above position $2, found by its primary key, so the cost is proportional to the window.
 * `seen` and `due` come from the snapshot and may be outdated; `locked` checks again whether a row is unleased and
 * skips rows that a claim has locked. As in a settlement, `queue` is locked before `deliveries`, and the counters come
 * last.
 */
const expireSqlOf = (
  kind: string,
): string => `WITH given AS (SELECT * FROM unnest($4::int[], $5::bigint[]) AS a (webhook, age)),
  seen AS MATERIALIZED (
    SELECT q.delivery, d.created_at, ${isFree}
      AND $1 - coalesce(d.retried_at, d.created_at) > coalesce(a.age, $6) AS is_due
    FROM (SELECT * FROM posthorn.queue WHERE delivery > $2${kind} ORDER BY delivery LIMIT ${windowRows}) AS q
    JOIN posthorn.deliveries d ON d.seq = q.delivery LEFT JOIN given a ON a.webhook = d.webhook),
  due AS MATERIALIZED (SELECT delivery FROM seen WHERE is_due ORDER BY delivery LIMIT $3),
  locked AS (SELECT q.delivery FROM posthorn.queue q JOIN due USING (delivery) WHERE ${isFree}
    FOR UPDATE OF q SKIP LOCKED),
  gone AS (DELETE FROM posthorn.queue q USING locked l WHERE q.delivery = l.delivery
    RETURNING q.delivery, q.priority, ${endedUnder}),
  done AS (
    UPDATE posthorn.deliveries d SET ${endingSql(endings.expired)}, completed_at = $1, late_lease_token =
      g.late_lease_token,
      lease_token_last = g.lease_token
    FROM gone g WHERE d.seq = g.delivery RETURNING d.seq, d.tenant, d.webhook),
  dead AS (INSERT INTO posthorn.dead_letters (delivery, tenant) SELECT seq, tenant FROM done),
  counted AS (${addToCounters(
    `SELECT priority, 0, -1 FROM gone UNION ALL SELECT ${deadLetterKind}, tenant, 1 FROM done`,
  )})
  SELECT (SELECT count(*) FROM done), count(*),
    CASE WHEN (SELECT count(*) FROM due) = $3 THEN (SELECT max(delivery) FROM due) ELSE max(delivery) END,
    min(delivery), coalesce(bool_or(created_at < $7), false), (SELECT count(*) FROM due) = $3,
    (SELECT string_agg(first::text, ',') FROM (SELECT min(seq) AS first FROM done GROUP BY webhook) AS firsts),
    ${endedColumn("done")}
  FROM seen`;

const expireSql = expireSqlOf("");
/** Retried deliveries may be below the floor of the sweep, so they are examined separately. */
const expireRetriedSql = expireSqlOf(" AND retried_at IS NOT NULL");

/** A visit with the first expired delivery of each webhook, and the number of expired deliveries per webhook. */
type ExpireRow = [...VisitRow, firsts: string | null, ended: string];

const expiredSql = `SELECT d.id::text, e.id::text, t.string, o.string, w.string, d.attempt_count
  FROM posthorn.deliveries d JOIN posthorn.events e ON e.seq = d.event JOIN posthorn.strings t ON t.ref = e.event_type
  JOIN posthorn.strings o ON o.ref = d.tenant JOIN posthorn.strings w ON w.ref = d.webhook
  WHERE d.seq = ANY ($1::bigint[])`;

type ExpiredRow = [
  id: string,
  eventId: string,
  eventType: string,
  tenantId: string,
  webhookId: string,
  attemptCount: number,
];

/**
 * A limited lookup in each lane of webhook $1, in an order that only the index has, so that the table is never scanned.
 */
const inLanes = (condition: string, order: string): string =>
  `SELECT q.delivery FROM posthorn.lanes l CROSS JOIN LATERAL (
        SELECT q.delivery FROM posthorn.queue q WHERE q.lane = l.ref AND ${condition} ORDER BY ${order} LIMIT $3
        FOR UPDATE SKIP LOCKED) AS q
      WHERE l.webhook = $1`;

/**
 * Ends waiting deliveries of a webhook, leased or not. There are two lookups, because each partial index covers one
 * kind of row. Each lookup has the limit, so that a lane with a million rows is not read to end a hundred. The lock
 * order is the same as in the statements above.
 */
const cancelSql = `WITH picked AS MATERIALIZED (
    SELECT delivery FROM (${inLanes("q.owner IS NULL", "q.queue_position, q.delivery")}
      UNION ALL ${inLanes("q.owner IS NOT NULL", "q.lease_until")}) AS waiting
    LIMIT $3),
  gone AS (DELETE FROM posthorn.queue q WHERE q.delivery = ANY (ARRAY(SELECT delivery FROM picked))
    RETURNING q.delivery, q.priority, ${endedUnder}),
  done AS (
    UPDATE posthorn.deliveries d SET ${endingSql(endings.webhook_deleted)}, completed_at = $2,
      late_lease_token = g.late_lease_token, lease_token_last = g.lease_token
    FROM gone g WHERE d.seq = g.delivery RETURNING d.tenant, d.webhook),
  counted AS (${addToCounters("SELECT priority, 0, -1 FROM gone")})
  SELECT count(*), ${endedColumn("done")} FROM done`;

const anyLeftSql = `SELECT EXISTS (SELECT FROM posthorn.lanes l WHERE l.webhook = $1 AND ${hasWork("l.ref")})`;

/** Ends deliveries that are too old, or whose webhook was deleted. */
export class Expiry {
  readonly #state: StoreState;
  readonly #sweep: Sweep;
  #retriedAbove = 0;

  constructor(state: StoreState) {
    this.#state = state;
    this.#sweep = new Sweep(state.maintenance, "expire");
  }

  async expire(step: ExpireStep): Promise<StepResult> {
    const { strings } = this.#state;
    await strings.lookUp(step.ageMsByWebhook.keys());
    const ages = [...step.ageMsByWebhook].flatMap(([webhookId, ageMs]) => {
      const webhook = strings.find(webhookId);
      return webhook === null ? [] : [{ webhook, ageMs }];
    });
    const retried = await this.#state.maintenance.transaction((transaction) =>
      this.#visit(transaction, step, this.#retriedAbove, ages, expireRetriedSql),
    );
    const hasMore = retried.full || retried.seen === windowRows;
    this.#retriedAbove = hasMore ? (retried.reached ?? 0) : 0;
    const { changed, more } = await this.#sweep.step((transaction, above) =>
      this.#visit(transaction, step, above, ages, expireSql),
    );
    return { changed: changed + retried.changed, more: more || hasMore };
  }

  /** Rows that others are locking, to claim or settle them, are left for a later step. */
  async cancelWebhook(step: CancelStep): Promise<StepResult> {
    const { strings, maintenance } = this.#state;
    await strings.lookUp([step.webhookId]);
    // A webhook that never had a delivery has no number; the resulting null matches no row.
    const webhook = strings.find(step.webhookId);
    return maintenance.transaction(async (transaction) => {
      const [[changed, ended] = [0, "[]"]] = await transaction.rows<[changed: number, ended: string]>(
        cancelSql,
        [webhook, step.now, step.limit],
      );
      const counted = step.isCounted === true ? endedFrom(ended, endingKey(endings.webhook_deleted)) : [];
      if (changed === step.limit || step.keepsMark === true) {
        await writeEnded(transaction, counted, step.now);
        return { changed, more: changed === step.limit };
      }
      const [left] = await transaction.rows<[any: boolean]>(anyLeftSql, [webhook]);
      const waits = left?.[0] ?? false;
      if (!waits) {
        await transaction.rows("UPDATE posthorn.webhooks SET cancel_due = false WHERE id = $1", [
          step.webhookId,
        ]);
      }
      await writeEnded(transaction, counted, step.now);
      return { changed, more: waits && changed > 0 };
    });
  }

  async #visit(
    transaction: Transaction,
    step: ExpireStep,
    above: number,
    ages: readonly { readonly webhook: number; readonly ageMs: number }[],
    sql: string,
  ): Promise<Visit> {
    const ageMsMin = Math.min(step.ageMsDefault, ...ages.map(({ ageMs }) => ageMs));
    const [row] = await transaction.rows<ExpireRow>(sql, [
      step.now,
      above,
      step.limit,
      numbers(ages.map(({ webhook }) => webhook)),
      numbers(ages.map(({ ageMs }) => ageMs)),
      step.ageMsDefault,
      step.now - ageMsMin,
    ]);
    if (row === undefined) return toVisit([0, 0, null, null, false, false]);
    const [changed, seen, reached, firstLeft, anyOld, full, firsts, ended] = row;
    if (step.tell !== undefined && firsts !== null)
      await runCalls(transaction, eventCalls(step.tell(await expiredOnes(transaction, firsts))));
    if (step.isCounted === true)
      await writeEnded(transaction, endedFrom(ended, endingKey(endings.expired)), step.now);
    return toVisit([changed, seen, reached, firstLeft, anyOld, full]);
  }
}

async function expiredOnes(transaction: Transaction, seqs: string): Promise<readonly ExpiredDelivery[]> {
  const rows = await transaction.rows<ExpiredRow>(expiredSql, [`{${seqs}}`]);
  return rows.map(([id, eventId, eventType, tenantId, webhookId, attemptCount]) => {
    return { id, eventId, eventType, tenantId, webhookId, attemptCount };
  });
}
