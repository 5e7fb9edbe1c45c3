import { numbers } from "./columns.ts";

/** Kinds below this one are waiting deliveries by priority code. */
export const deadLetterKind = 3;

/** Concurrent commits mostly add to different shards. */
const shards = 16;

/**
 * Adds `rows`, a query of (kind, tenant, value), to the counters. Rows are locked in a fixed order, so that two commits
 * in one shard wait for each other instead of deadlocking. For the same reason a commit that adds twice, when it writes
 * deliveries (`beginning`) and when it ends some, uses higher shards the second time.
 */
export function addToCounters(rows: string, part: "beginning" | "ending" = "ending"): string {
  const first = part === "beginning" ? 0 : shards;
  return `INSERT INTO posthorn.counters AS c (shard, kind, tenant, value)
    SELECT ${first} + pg_backend_pid() % ${shards}, kind, tenant, sum(value) FROM (${rows}) AS delta (kind, tenant, value)
    GROUP BY kind, tenant HAVING sum(value) <> 0 ORDER BY kind, tenant
    ON CONFLICT (shard, kind, tenant) DO UPDATE SET value = c.value + excluded.value`;
}

/** Changes of the counters by one transaction. */
export class Deltas {
  readonly #waiting: [number, number, number] = [0, 0, 0];
  readonly #deadLetters = new Map<number, number>();

  addWaiting(priority: number, change: 1 | -1): void {
    this.#waiting[priority as 0 | 1 | 2] += change;
  }

  addDeadLetter(tenant: number, change: 1 | -1): void {
    this.#deadLetters.set(tenant, (this.#deadLetters.get(tenant) ?? 0) + change);
  }

  /** Three columns: kind, tenant, value. */
  columns(): readonly [kinds: string, tenants: string, values: string] {
    const waiting = this.#waiting.map((value, kind) => [kind, 0, value] as const);
    const dead = [...this.#deadLetters].map(([tenant, value]) => [deadLetterKind, tenant, value] as const);
    const rows = [...waiting, ...dead].filter(([, , value]) => value !== 0);
    return [
      numbers(rows.map(([kind]) => kind)),
      numbers(rows.map(([, tenant]) => tenant)),
      numbers(rows.map(([, , value]) => value)),
    ];
  }
}
