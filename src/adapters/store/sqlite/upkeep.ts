import { clockDifferenceMs } from "../../../core/due-times.ts";
import type {
  BringNearResult,
  BringNearStep,
  CancelStep,
  ExpireStep,
  HistoryStep,
  StepResult,
  UpkeepStore,
} from "../../../ports/store/upkeep.ts";
import type { SqliteDeliveries } from "./deliveries.ts";
import { BringNear } from "./bring-near.ts";
import { chunkKinds } from "./chunks.ts";
import { Expiry } from "./expiry.ts";
import type { NotificationRows } from "./notification-queue.ts";
import { Retention, type RetentionStep } from "./retention.ts";
import type { StoreState } from "./state.ts";
import type { StatisticsWriter } from "./statistics-writer.ts";
import { Sweeps } from "./sweeps.ts";

/** Upkeep, one transaction per step. */
export class SqliteUpkeep implements UpkeepStore {
  readonly #state: StoreState;
  readonly #deliveries: SqliteDeliveries;
  readonly #bringNear: BringNear;
  readonly #expiry: Expiry;
  readonly #retention: Retention;

  constructor(
    state: StoreState,
    deliveries: SqliteDeliveries,
    notifications: NotificationRows,
    statistics: Pick<StatisticsWriter, "writeEnded">,
  ) {
    const sweeps = new Sweeps(state);
    this.#state = state;
    this.#deliveries = deliveries;
    this.#bringNear = new BringNear(state);
    this.#expiry = new Expiry(state, sweeps, notifications, statistics);
    this.#retention = new Retention(state, sweeps);
  }

  async expire(step: ExpireStep): Promise<StepResult> {
    this.#deliveries.endExpiredLeases(step.now);
    return this.#state.connection.write(() => this.#expiry.expire(step));
  }

  async hasFutureDeliveries(now: number): Promise<boolean> {
    const { connection, chunks } = this.#state;
    return connection.read(() => chunks.anyCreatedAfter(chunkKinds.deliveries, now + clockDifferenceMs));
  }

  async bringNear(step: BringNearStep): Promise<BringNearResult> {
    return this.#state.connection.write(() => this.#bringNear.step(step));
  }

  async cancelWebhook(step: CancelStep): Promise<StepResult> {
    this.#deliveries.endExpiredLeases(step.now);
    return this.#state.connection.write(() => this.#expiry.cancelWebhook(step));
  }

  async forgetPayloads(step: RetentionStep): Promise<StepResult> {
    return this.#state.connection.write(() => this.#retention.forgetPayloads(step));
  }

  async forgetHistory(step: HistoryStep): Promise<StepResult> {
    return this.#state.connection.write(() => this.#retention.forgetHistory(step));
  }

  async forgetAudit(step: RetentionStep): Promise<StepResult> {
    return this.#state.connection.write(() => this.#retention.forgetAudit(step));
  }

  async forgetKeys(step: { readonly now: number; readonly limit: number }): Promise<StepResult> {
    return this.#state.connection.write(() => this.#retention.forgetKeys(step.now, step.limit));
  }
}
