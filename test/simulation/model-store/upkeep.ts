import { endings, isTooOld } from "../../../src/domain/delivery-state.ts";
import type {
  BringNearResult,
  CancelStep,
  ExpireStep,
  HistoryStep,
  StepResult,
  UpkeepStore,
} from "../../../src/ports/store/upkeep.ts";
import { type DeliveryRow, type EventRow, isHeld, isWaiting, type Rows } from "./rows.ts";

export class ModelUpkeep implements UpkeepStore {
  readonly #rows: Rows;
  readonly #forgetOtherKeys: (now: number) => number;

  constructor(rows: Rows, forgetOtherKeys: (now: number) => number) {
    this.#rows = rows;
    this.#forgetOtherKeys = forgetOtherKeys;
  }

  async expire(step: ExpireStep): Promise<StepResult> {
    const { now } = step;
    const horizon = (row: DeliveryRow): number =>
      step.ageMsByWebhook.get(row.lane.webhookId) ?? step.ageMsDefault;
    const old = [...this.#rows.waiting()].filter(
      (row) => isTooOld(row.progress, horizon(row), now) && !isHeld(row, now),
    );
    return inSteps(old, step.limit, (row) => this.#rows.end(row, { ending: endings.expired, at: now }));
  }

  /** Always false, because the simulated clock is never ahead. */
  async hasFutureDeliveries(): Promise<boolean> {
    return false;
  }

  async bringNear(): Promise<BringNearResult> {
    return { changed: 0, next: null };
  }

  async cancelWebhook({ webhookId, now, limit }: CancelStep): Promise<StepResult> {
    const waiting = [...this.#rows.waiting()].filter((row) => row.lane.webhookId === webhookId);
    return inSteps(waiting, limit, (row) =>
      this.#rows.end(row, { ending: endings.webhook_deleted, at: now }),
    );
  }

  async forgetPayloads(createdBefore: number, limit: number): Promise<StepResult> {
    const needed = new Set([...this.#rows.waiting(), ...this.#rows.parts].map((row) => row.event));
    const old = [...this.#rows.events.values()].filter(
      (row) => row.event.createdAt < createdBefore && row.body !== null && !needed.has(row),
    );
    return inSteps(old, limit, (row) => {
      row.body = null;
    });
  }

  async forgetHistory(step: HistoryStep): Promise<StepResult> {
    const deliveries = [...this.#rows.deliveries.values()].filter(
      (row) => row.progress.createdAt < step.createdBefore && !isWaiting(row),
    );
    const forgotten = inSteps(deliveries, step.limit, (row) => this.#rows.remove(row));
    if (forgotten.more) return forgotten;
    const old = [...this.#rows.events.values()].filter((row) => row.event.createdAt < step.createdBefore);
    const needed = old.length === 0 ? null : this.#neededEvents(step.now);
    const events = old.filter((row) => needed?.has(row) !== true);
    const bare = inSteps(events, step.limit - forgotten.changed, (row) => {
      this.#rows.events.delete(row.event.id);
      for (const [name, { event }] of this.#rows.dedup) if (event === row) this.#rows.dedup.delete(name);
    });
    return { changed: forgotten.changed + bare.changed, more: bare.more };
  }

  #neededEvents(now: number): ReadonlySet<EventRow> {
    return new Set([
      ...[...this.#rows.deliveries.values(), ...this.#rows.parts].map((row) => row.event),
      // Keeps events whose key is still valid, because a key must always lead to its event.
      ...[...this.#rows.dedup.values()].filter((row) => row.expiresAt > now).map((row) => row.event),
    ]);
  }

  async forgetAudit(): Promise<StepResult> {
    return { changed: 0, more: false };
  }

  async forgetKeys(now: number): Promise<StepResult> {
    return { changed: this.#forgetOtherKeys(now), more: false };
  }
}

function inSteps<Row>(rows: readonly Row[], limit: number, change: (row: Row) => unknown): StepResult {
  for (const row of rows.slice(0, limit)) change(row);
  return { changed: Math.min(rows.length, limit), more: rows.length > limit };
}
