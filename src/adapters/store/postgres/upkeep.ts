import type {
  BringNearResult,
  BringNearStep,
  CancelStep,
  ExpireStep,
  HistoryStep,
  StepResult,
  UpkeepStore,
} from "../../../ports/store/upkeep.ts";
import { bringNear, hasFutureDeliveries } from "./bring-near.ts";
import { Expiry } from "./expiry.ts";
import type { Partitions } from "./partitions.ts";
import { Retention, type RetentionStep } from "./retention.ts";
import type { StoreState } from "./state.ts";

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

  async forgetPayloads(step: RetentionStep): Promise<StepResult> {
    return this.#retention.forgetPayloads(step);
  }

  async forgetHistory(step: HistoryStep): Promise<StepResult> {
    return this.#retention.forgetHistory(step);
  }

  async forgetAudit(step: RetentionStep): Promise<StepResult> {
    return this.#retention.forgetAudit(step);
  }

  async forgetKeys(step: { readonly now: number; readonly limit: number }): Promise<StepResult> {
    await this.#partitions.ensure(step.now);
    return this.#retention.forgetKeys(step.now, step.limit);
  }
}
