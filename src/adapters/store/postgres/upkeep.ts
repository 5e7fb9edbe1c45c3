import type {
  CancelStep,
  ExpireStep,
  HistoryStep,
  StepResult,
  UpkeepStore,
} from "../../../ports/store/upkeep.ts";
import { Expiry } from "./expiry.ts";
import type { Partitions } from "./partitions.ts";
import { Retention, type RetentionStep } from "./retention.ts";
import type { StoreState } from "./state.ts";

/** House-keeping, one transaction per step. */
export class PostgresUpkeep implements UpkeepStore {
  readonly #partitions: Partitions;
  readonly #expiry: Expiry;
  readonly #retention: Retention;

  constructor(state: StoreState, partitions: Partitions) {
    this.#partitions = partitions;
    this.#expiry = new Expiry(state);
    this.#retention = new Retention(state, partitions);
  }

  async expire(step: ExpireStep): Promise<StepResult> {
    return this.#expiry.expire(step);
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
    return this.#retention.forgetKeys(step);
  }
}
