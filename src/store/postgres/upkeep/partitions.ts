import type { Transaction, Transactor } from "../driver/database.ts";
import type { RetentionStep } from "./retention.ts";

/** Number of months in advance for which partitions are created. */
const monthsAhead = 2;
/**
 * Attaching or dropping a partition locks the table for an instant. If a long read (such as a backup) blocks that lock,
 * all others would queue behind us. Therefore, give up soon and retry in the next round.
 */
const lockTimeout = "SELECT set_config('lock_timeout', '500ms', true)";
const partitionLock = "5787800397498404431";
/**
 * Maximum number of attempts moved into a late partition, because others wait during the move. A month with more
 * attempts stays in `attempts_rest`.
 */
const movedMax = 10_000;

/**
 * The partitions of `attempts`, one per month in UTC. Rows without a partition go to `attempts_rest`, so that nothing
 * is lost after a clock jump or if upkeep never ran.
 */
export class Partitions {
  readonly #database: Transactor;
  #madeUntil = 0;

  constructor(database: Transactor) {
    this.#database = database;
  }

  /**
   * Creates the missing partitions, from the month before a time to some months in advance. Cheap if no partition is
   * missing.
   */
  async ensure(now: number): Promise<void> {
    if (now < this.#madeUntil) return;
    for (let offset = -1; offset <= monthsAhead; offset += 1)
      await this.ensureMonthOf(monthStart(now, offset));
    this.#madeUntil = monthStart(now, 1);
  }

  /** Creates the partition of the month that contains a time. */
  async ensureMonthOf(time: number): Promise<void> {
    const month = { from: monthStart(time, 0), to: monthStart(time, 1) };
    await this.#database.transaction((transaction) => makePartition(transaction, month.from, month.to));
  }

  /**
   * Drops months that are entirely before a time, once no delivery of that age is waiting. Dropping a partition costs
   * the same for any number of rows. Old rows in `attempts_rest` are deleted.
   */
  async dropBefore(step: RetentionStep): Promise<void> {
    const [oldest] = await this.#database.rows<[createdAt: number]>(
      `SELECT d.created_at FROM posthorn.queue q JOIN posthorn.deliveries d ON d.seq = q.delivery
       ORDER BY q.delivery LIMIT 1`,
    );
    const before = Math.min(step.createdBefore, oldest?.[0] ?? step.createdBefore);
    const names = await this.#database.rows<[name: string]>(
      `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
       WHERE i.inhparent = 'posthorn.attempts'::regclass ORDER BY c.relname`,
    );
    for (const [name] of names) {
      const from = monthOf(name);
      if (from === null || monthStart(from, 1) > before) continue;
      await this.#database.transaction(async (transaction) => {
        await transaction.rows(lockTimeout);
        await transaction.rows(`DROP TABLE IF EXISTS posthorn.${name}`);
      });
    }
    await this.#database.rows(
      `DELETE FROM posthorn.attempts_rest WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM posthorn.attempts_rest WHERE executed_at < $1 LIMIT $2))`,
      [before, step.limit],
    );
  }
}

async function makePartition(transaction: Transaction, from: number, to: number): Promise<void> {
  const name = partitionName(from);
  await transaction.rows(lockTimeout);
  await transaction.rows(`SELECT pg_advisory_xact_lock(${partitionLock})`);
  const [row] = await transaction.rows<[isThere: boolean]>(
    "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'posthorn' AND tablename = $1)",
    [name],
  );
  if (row?.[0] === true) return;
  const ofMonth = "posthorn.attempts_rest WHERE executed_at >= $1 AND executed_at < $2";
  const late = await transaction.rows(`SELECT FROM ${ofMonth} LIMIT ${movedMax + 1}`, [from, to]);
  if (late.length > movedMax) return;
  // Concurrent writes would prevent attaching, and thereby block the startup of a server.
  await transaction.rows("LOCK TABLE posthorn.attempts_rest IN SHARE ROW EXCLUSIVE MODE");
  // The partition is filled first and then attached, which takes weaker locks than creating it in place.
  await transaction.rows(`CREATE TABLE posthorn.${name} (LIKE posthorn.attempts INCLUDING ALL)`);
  await transaction.rows(
    `WITH moved AS (DELETE FROM ${ofMonth} RETURNING *)
     INSERT INTO posthorn.${name} SELECT * FROM moved`,
    [from, to],
  );
  await transaction.rows(
    `ALTER TABLE posthorn.attempts ATTACH PARTITION posthorn.${name} FOR VALUES FROM (${from}) TO (${to})`,
  );
}

function monthStart(time: number, months: number): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1);
}

function partitionName(month: number): string {
  return `attempts_${new Date(month).toISOString().slice(0, 7).replace("-", "_")}`;
}

/** The start of a partition's month; null for other tables. */
function monthOf(name: string): number | null {
  const match = /^attempts_(\d{4})_(\d{2})$/.exec(name);
  return match === null ? null : Date.UTC(Number(match[1]), Number(match[2]) - 1, 1);
}
