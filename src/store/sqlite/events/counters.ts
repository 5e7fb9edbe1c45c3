import type { StatementSync } from "node:sqlite";
import type { Connection } from "../driver/connection.ts";

interface TenantCounters {
  sequenceLast: number;
  deadLetters: number;
  changed: boolean;
}

type CountersRow = [
  high: number,
  normal: number,
  low: number,
  eventLast: number,
  deliveryLast: number,
  freshFloor: number,
  opens: number,
];

/**
 * Counters and the last positions, kept in memory and written once per transaction, regardless of its size. Rows are
 * never counted, so a million waiting deliveries cost as much as none.
 */
export class Counters {
  /** Number of waiting deliveries, by priority code. */
  readonly waiting: [number, number, number] = [0, 0, 0];
  eventLast = 0;
  deliveryLast = 0;
  /** Counts openings of the file, so that the lease tokens of two processes differ. */
  opens = 0;
  readonly #freshFirst: () => number | null;
  readonly #tenants = new Map<number, TenantCounters>();
  readonly #changedTenants = new Map<number, TenantCounters>();
  readonly #read: StatementSync;
  readonly #update: StatementSync;
  readonly #tenant: StatementSync;
  readonly #deadLetters: StatementSync;
  readonly #saveTenant: StatementSync;
  #changed = false;
  #freshFloor = 1;

  /** `freshFirst` returns the oldest delivery that waits but is not in the lane index. */
  constructor(connection: Connection, freshFirst: () => number | null) {
    this.#freshFirst = freshFirst;
    this.#read = connection.prepare(
      `SELECT waiting_high, waiting_normal, waiting_low, event_last, delivery_last, fresh_floor, opens FROM counters`,
    );
    this.#update = connection.prepare(
      `UPDATE counters SET waiting_high = ?, waiting_normal = ?, waiting_low = ?, event_last = ?, delivery_last = ?,
       fresh_floor = ?, opens = ?`,
    );
    this.#tenant = connection.prepare(
      "SELECT sequence_last, dead_letters FROM tenant_counters WHERE tenant = ?",
    );
    this.#deadLetters = connection.prepare(
      "SELECT tenant, dead_letters FROM tenant_counters WHERE dead_letters > 0",
    );
    this.#saveTenant = connection.prepare("INSERT OR REPLACE INTO tenant_counters VALUES (?, ?, ?)");
    this.#load();
    connection.join({ beforeCommit: () => this.#flush(), reload: () => this.#load() });
  }

  /** A bound as of the last commit: every waiting delivery below this position is in the lane index. */
  get freshFloor(): number {
    return this.#freshFloor;
  }

  addWaiting(priority: number, change: 1 | -1): void {
    this.waiting[priority as 0 | 1 | 2] += change;
    this.#changed = true;
  }

  addDeadLetter(tenant: number, change: 1 | -1): void {
    const counters = this.#tenantCounters(tenant);
    counters.deadLetters += change;
    this.#markTenant(tenant, counters);
  }

  /** Assigns the next sequence number of a tenant. */
  nextSequence(tenant: number): number {
    const counters = this.#tenantCounters(tenant);
    counters.sequenceLast += 1;
    this.#markTenant(tenant, counters);
    return counters.sequenceLast;
  }

  nextEvent(): number {
    this.eventLast += 1;
    this.#changed = true;
    return this.eventLast;
  }

  nextDelivery(): number {
    this.deliveryLast += 1;
    this.#changed = true;
    return this.deliveryLast;
  }

  /** Reserves positions for deliveries that are written later. Returns the first one. */
  reserveDeliveries(count: number): number {
    const first = this.deliveryLast + 1;
    this.deliveryLast += count;
    this.#changed = true;
    return first;
  }

  /** Makes the next commit write the row, for changes that affect only `freshFloor` or `opens`. */
  touch(): void {
    this.#changed = true;
  }

  deadLetters(): readonly (readonly [tenant: number, count: number])[] {
    return this.#deadLetters.all() as unknown as [number, number][];
  }

  #tenantCounters(tenant: number): TenantCounters {
    const known = this.#tenants.get(tenant);
    if (known !== undefined) return known;
    const row = this.#tenant.get(tenant) as unknown as
      | [sequenceLast: number, deadLetters: number]
      | undefined;
    const counters = { sequenceLast: row?.[0] ?? 0, deadLetters: row?.[1] ?? 0, changed: false };
    this.#tenants.set(tenant, counters);
    return counters;
  }

  #markTenant(tenant: number, counters: TenantCounters): void {
    if (counters.changed) return;
    counters.changed = true;
    this.#changedTenants.set(tenant, counters);
  }

  #flush(): void {
    for (const [tenant, counters] of this.#changedTenants) {
      this.#saveTenant.run(tenant, counters.sequenceLast, counters.deadLetters);
      counters.changed = false;
    }
    this.#changedTenants.clear();
    if (!this.#changed) return;
    this.#freshFloor = this.#freshFirst() ?? this.deliveryLast + 1;
    this.#update.run(...this.waiting, this.eventLast, this.deliveryLast, this.#freshFloor, this.opens);
    this.#changed = false;
  }

  #load(): void {
    const row = this.#read.get() as unknown as CountersRow;
    this.waiting[0] = row[0];
    this.waiting[1] = row[1];
    this.waiting[2] = row[2];
    this.eventLast = row[3];
    this.deliveryLast = row[4];
    this.#freshFloor = row[5];
    this.opens = row[6];
    this.#changed = false;
    this.#tenants.clear();
    this.#changedTenants.clear();
  }
}
