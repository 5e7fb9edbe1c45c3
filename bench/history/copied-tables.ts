import type { HistoryBlock } from "./load.ts";

/** Expressions over a row `r`, for columns that a copy has otherwise. */
type Columns = Readonly<Record<string, string>>;

export interface CopiedTable {
  readonly name: string;
  readonly changed: Columns;
  readonly where: string;
  readonly joins?: string;
}

/** How far a copy is from the block, in rows and in time. */
export interface Shift {
  /** From 1. */
  readonly copy: number;
  readonly events: number;
  readonly deliveries: number;
  readonly ms: number;
}

/** The last rows of the block. */
export interface LastRows {
  readonly event: number;
  readonly delivery: number;
}

/** What differs between the stores in the statements that copy. */
export interface Dialect {
  /** A UUIDv7 like `id`, of another time. */
  readonly idAt: (id: string, time: string) => string;
  readonly events: Columns;
  readonly attempts: CopiedTable;
  /** Tables of waiting deliveries and of dead letters. */
  readonly more: readonly CopiedTable[];
}

/** In each copy the webhooks of a tenant change places by so many, so that not the same ones fail. */
const webhooksApart = 7;

export function shiftsOf(
  { copies, spanMs }: HistoryBlock,
  events: number,
  deliveries: number,
): readonly Shift[] {
  return Array.from({ length: copies }, (_, index) => {
    const copy = index + 1;
    return { copy, events: copy * events, deliveries: copy * deliveries, ms: copy * spanMs };
  });
}

/** Whose place a webhook takes in one copy, from the table `places (place, webhook, lane)`. */
export function movedSql({ webhookIds, tenants }: HistoryBlock, { copy }: Shift): string {
  const by = copy * webhooksApart * tenants;
  return `SELECT a.webhook AS was, a.lane AS lane_was, b.webhook, b.lane FROM places a
    JOIN places b ON b.place = (a.place + ${by}) % ${webhookIds.length}`;
}

export function later(column: string, { ms }: Shift): string {
  return `r.${column} + ${ms}`;
}

/** Joins the table `moved` of `movedSql`. */
export function movedBy(column: string, was: "was" | "lane_was" = "was"): string {
  return `JOIN moved m ON m.${was} = r.${column}`;
}

/** The tables with rows of the block, and what a copy of them has otherwise. */
export function copiedTables(
  block: HistoryBlock,
  dialect: Dialect,
  shift: Shift,
  last: LastRows,
): readonly CopiedTable[] {
  const { idAt } = dialect;
  const [createdAt, executedAt] = [later("created_at", shift), later("executed_at", shift)];
  const bucket = later("bucket", shift);
  const minutes = `r.step = 0 AND r.bucket >= ${block.beginsAt} AND r.bucket < ${block.beginsAt + block.spanMs}`;
  return [
    {
      name: "events",
      changed: {
        seq: `r.seq + ${shift.events}`,
        id: idAt("r.id", createdAt),
        created_at: createdAt,
        ...dialect.events,
      },
      where: `r.seq <= ${last.event}`,
    },
    {
      name: "deliveries",
      changed: {
        seq: `r.seq + ${shift.deliveries}`,
        event: `r.event + ${shift.events}`,
        id: idAt("r.id", createdAt),
        created_at: createdAt,
        webhook: "m.webhook",
        lane: "m.lane",
        first_attempt_at: later("first_attempt_at", shift),
        completed_at: later("completed_at", shift),
        // What waits does so until tomorrow.
        due_at: `CASE WHEN r.completed_at IS NULL THEN r.due_at ELSE ${later("due_at", shift)} END`,
      },
      joins: movedBy("webhook"),
      where: `r.seq <= ${last.delivery}`,
    },
    {
      ...dialect.attempts,
      changed: {
        id: idAt("r.id", executedAt),
        executed_at: executedAt,
        scheduled_at: later("scheduled_at", shift),
        ...dialect.attempts.changed,
      },
    },
    {
      name: "delivery_stats",
      changed: { bucket, subject: "coalesce(m.webhook, 0)" },
      joins: `LEFT ${movedBy("subject")}`,
      where: minutes,
    },
    { name: "event_stats", changed: { bucket }, where: minutes },
    ...dialect.more,
  ];
}

export function copySql(
  { name, changed, joins = "", where }: CopiedTable,
  columns: readonly string[],
): string {
  const values = columns.map((column) => changed[column] ?? `r.${column}`);
  return `INSERT INTO ${name} (${columns.join()}) SELECT ${values.join()} FROM ${name} r ${joins} WHERE ${where}`;
}
