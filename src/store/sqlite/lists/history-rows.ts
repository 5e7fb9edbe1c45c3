import type { StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type { FailureCategory, Outcome } from "../../../domain/classify.ts";
import type { AttemptRecord } from "../../../domain/delivery.ts";
import type {
  AttemptStats,
  EventSummary,
  StoredDelivery,
  StoredEvent,
} from "../../../ports/store/history.ts";
import { categoryCodes, decode, decodeOrNull, outcomeCodes } from "../../column-values.ts";
import {
  attemptColumnsWith,
  type AttemptRow,
  deliveryColumnsWith,
  type DeliveryRow,
  type EventRow,
  type StoredNames,
  toAttempt,
  toEventSummary,
  toStoredDelivery,
  toStoredEvent,
} from "../../history-rows.ts";
import { chunkKinds, chunkOf, chunkStart } from "../driver/chunks.ts";
import type { StoreState } from "../state.ts";

const attemptNumber = "a.key & 65535";
const selectEvent = (body: string): string =>
  `SELECT seq, id, tenant, event_type, sequence_number, occurred_at, source, idempotency_key, priority,
  created_at, content_type, delivery_count + requeue_count, ${body}, raw, trace, relayed FROM events`;
const selectDelivery = `SELECT ${deliveryColumnsWith(attemptNumber)}
  FROM deliveries d JOIN events e ON e.seq = d.event
  LEFT JOIN attempts a ON a.key = (d.seq << 16) | d.attempt_count`;

/** Converts stored rows into the port's types. */
export class HistoryRows {
  readonly #names: StoredNames;
  readonly #summary: StatementSync;
  readonly #eventById: StatementSync;
  readonly #delivery: StatementSync;
  readonly #deliveryById: StatementSync;

  constructor(state: StoreState) {
    const { connection, strings, lanes } = state;
    this.#names = { text: (ref) => strings.text(ref), lane: (ref) => lanes.key(ref) };
    this.#summary = connection.prepare(`${selectEvent("NULL")} WHERE seq = ?`);
    this.#eventById = connection.prepare(`${selectEvent("body")} WHERE id = ?`);
    this.#delivery = connection.prepare(`${selectDelivery} WHERE d.seq = ?`);
    this.#deliveryById = connection.prepare(`${selectDelivery} WHERE d.id = ?`);
  }

  eventSummary(seq: number): EventSummary | undefined {
    const row = this.#summary.get(seq) as unknown as EventRow | undefined;
    return row === undefined ? undefined : toEventSummary(row, this.#names);
  }

  eventById(id: string): StoredEvent | null {
    const row = this.#eventById.get(id) as unknown as EventRow | undefined;
    return row === undefined ? null : toStoredEvent(row, this.#names);
  }

  delivery(seq: number): StoredDelivery | undefined {
    const row = this.#delivery.get(seq) as unknown as DeliveryRow | undefined;
    return row === undefined ? undefined : toStoredDelivery(row, this.#names);
  }

  deliveryById(id: string): StoredDelivery | null {
    const row = this.#deliveryById.get(id) as unknown as DeliveryRow | undefined;
    return row === undefined ? null : toStoredDelivery(row, this.#names);
  }
}

type StatRow = [outcome: number, category: number | null, durationMs: number, executedAt: number];

/** Statistics read no more than this many attempts, as the port promises. */
const attemptsReadMax = 10_000;

/** Number of chunks read at once. Each chunk costs one seek if the tenant is known, and a scan otherwise. */
const chunksAtOnce = 64;

const keysOf = "BETWEEN (d.seq << 16) AND (d.seq << 16) + 65535";

/**
 * Newest deliveries first. Those of an owner are adjacent in each chunk, and their attempts are found by key. The plus
 * removes the column's type affinity, so that the index can be used.
 */
export function attemptsOf(owner: string): string {
  return `SELECT a.outcome, a.category, a.duration_ms, a.executed_at FROM chunks c
    CROSS JOIN deliveries d INDEXED BY deliveries_owner ON d.seq >> 12 = +c.chunk AND ${owner}
    CROSS JOIN attempts a ON a.key ${keysOf}
    WHERE c.kind = ${chunkKinds.deliveries} AND c.chunk BETWEEN ? AND ?
    ORDER BY c.chunk DESC, d.seq DESC LIMIT ?`;
}

export class AttemptReader {
  readonly #state: StoreState;
  readonly #ofDelivery: StatementSync;
  readonly #ofOwner: StatementSync;
  readonly #ofWebhook: StatementSync;

  constructor(state: StoreState) {
    const { connection } = state;
    this.#state = state;
    this.#ofDelivery = connection.prepare(
      `SELECT ${attemptColumnsWith(attemptNumber)}
       FROM deliveries d CROSS JOIN attempts a ON a.key ${keysOf} WHERE d.id = ? ORDER BY a.key`,
    );
    this.#ofOwner = connection.prepare(attemptsOf("d.tenant = ? AND d.webhook = ?"));
    this.#ofWebhook = connection.prepare(attemptsOf("d.webhook = ?"));
  }

  ofDelivery(deliveryId: string): readonly AttemptRecord[] {
    return (this.#ofDelivery.all(deliveryId) as unknown as AttemptRow[]).map(toAttempt);
  }

  async stats(webhookId: string, tenantId: string | null, since: number): Promise<AttemptStats> {
    const { connection, strings } = this.#state;
    const summary = new AttemptSummary(since);
    const webhook = connection.read(() => strings.find(webhookId));
    const tenant = connection.read(() => (tenantId === null ? null : strings.find(tenantId)));
    let before: number | null = webhook === null ? null : Number.MAX_SAFE_INTEGER;
    while (webhook !== null && before !== null && summary.read < attemptsReadMax) {
      const from: number = before;
      before = connection.read(() => this.#addChunks(summary, webhook, tenant, from));
      await setImmediate();
    }
    return summary.done();
  }

  /** Returns the position at which to continue; null at the end. */
  #addChunks(summary: AttemptSummary, webhook: number, tenant: number | null, before: number): number | null {
    const range = { chunk: chunkOf(before - 1), from: null, to: null };
    const last = this.#state.chunks.atOrBelow(chunkKinds.deliveries, range);
    if (last === null) return null;
    const limit = attemptsReadMax - summary.read;
    const first = tenant === null ? last : last - chunksAtOnce + 1;
    const rows =
      tenant === null
        ? this.#ofWebhook.all(webhook, first, last, limit)
        : this.#ofOwner.all(tenant, webhook, first, last, limit);
    for (const row of rows as unknown as StatRow[]) summary.add(row);
    return chunkStart(first);
  }
}

class AttemptSummary {
  read = 0;
  readonly #since: number;
  readonly #outcomes: Record<Outcome, number> = { accepted: 0, transient: 0, terminal: 0 };
  readonly #categories: Partial<Record<FailureCategory, number>> = {};
  readonly #durationsMs: number[] = [];
  #lastAttemptAt: number | null = null;

  constructor(since: number) {
    this.#since = since;
  }

  add([outcome, category, durationMs, executedAt]: StatRow): void {
    this.read += 1;
    if (executedAt < this.#since) return;
    this.#outcomes[decode(outcomeCodes, outcome)] += 1;
    const name = decodeOrNull(categoryCodes, category);
    if (name !== null) this.#categories[name] = (this.#categories[name] ?? 0) + 1;
    this.#durationsMs.push(durationMs);
    if (this.#lastAttemptAt === null || executedAt > this.#lastAttemptAt) this.#lastAttemptAt = executedAt;
  }

  done(): AttemptStats {
    const sorted = this.#durationsMs.sort((a, b) => a - b);
    return {
      total: sorted.length,
      ...this.#outcomes,
      byCategory: this.#categories,
      durationMsP50: percentile(sorted, 0.5),
      durationMsP95: percentile(sorted, 0.95),
      lastAttemptAt: this.#lastAttemptAt,
    };
  }
}

/** Nearest-rank method. */
function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? null;
}
