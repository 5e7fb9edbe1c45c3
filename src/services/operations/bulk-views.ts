import type { discardFields, retryDeliveriesFields } from "../../core/fields/bulk.ts";
import type { InputOf } from "../../core/fields/field.ts";
import type { BatchOperation, ExclusionCounts, OperationSelection } from "../../ports/store/operations.ts";
import type { ListedDelivery } from "../services.ts";
import type { OpenCircuit } from "../webhooks/webhook-circuit.ts";

/** Of `filter` and `ids` one. `to` is the time of the call where it is left out. */
export type BulkDeliveriesCommand = InputOf<typeof retryDeliveriesFields>;
export type DiscardCommand = InputOf<typeof discardFields>;

export interface BulkStarted {
  /** Null with `dryRun`. */
  readonly operation: BatchOperation | null;
  /** Deliveries that are acted on. */
  readonly count: number;
  /** False where counting stopped at its bound: there are more. */
  readonly isExact: boolean;
  /** The oldest of them, at most five. */
  readonly samples: readonly ListedDelivery[];
  readonly excluded: ExclusionCounts;
  /** Webhooks whose open circuit holds back what is sent again to them. */
  readonly openCircuits: readonly OpenCircuit[];
  /** With its times as instants. */
  readonly selection: OperationSelection;
  readonly requestsPerSecond: number;
  /** Null where the count is not exact. */
  readonly durationMs: number | null;
}
