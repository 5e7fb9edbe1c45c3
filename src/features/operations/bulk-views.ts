import type { discardFields, retryDeliveriesFields } from "../../resources/operation.ts";
import type { InputOf } from "../../resources/field.ts";
import type { BatchOperation, ExclusionCounts, OperationSelection } from "../../ports/store/operations.ts";
import type { ListedDelivery } from "../services.ts";
import type { OpenCircuit } from "../webhooks/webhook-circuit.ts";

/** Takes either `filter` or `ids`. `to` defaults to the time of the call. */
export type BulkDeliveriesCommand = InputOf<typeof retryDeliveriesFields>;
export type DiscardCommand = InputOf<typeof discardFields>;

export interface BulkStarted {
  /** Null with `dryRun`. */
  readonly operation: BatchOperation | null;
  /** Number of deliveries to process. */
  readonly count: number;
  /** False if counting stopped at its limit: there are more. */
  readonly isExact: boolean;
  /** The oldest of them, up to five. */
  readonly samples: readonly ListedDelivery[];
  readonly excluded: ExclusionCounts;
  /** Webhooks whose open circuit delays deliveries that are sent again. */
  readonly openCircuits: readonly OpenCircuit[];
  /** With its times as instants. */
  readonly selection: OperationSelection;
  readonly requestsPerSecond: number;
  /** Null if the count is not exact. */
  readonly durationMs: number | null;
}
