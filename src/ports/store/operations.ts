import type { DeliveryStatus, Priority, WaitingFor } from "../../domain/delivery.ts";
import type { Page, PageRequest } from "../store.ts";
import type { AuditEntry } from "./audit.ts";
import type { DeliveryFilter } from "./search.ts";

/** Bulk operations that survive a restart: retries, recoveries, cancellations and discards (WDS-112, 113). */
export interface OperationStore {
  /** Adds an operation with its audit row, in the same transaction. */
  save(operation: BatchOperation, audit?: AuditEntry): Promise<void>;
  /**
   * Writes the operation with the next revision. If another process has written the operation since it was read,
   * returns false and writes nothing.
   */
  update(operation: BatchOperation, audit?: AuditEntry): Promise<boolean>;
  get(tenantId: string | null, id: string): Promise<BatchOperation | null>;
  /** Newest first. */
  list(query: OperationQuery): Promise<Page<BatchOperation>>;
  /** Operations that are pending or running, oldest first. */
  unfinished(): Promise<readonly BatchOperation[]>;
}

/** A page of operations of one tenant, or of all tenants if the tenant is null. */
export interface OperationQuery {
  readonly tenantId: string | null;
  readonly page: PageRequest;
}

/** `dlq_retry` and `recover` have separate selections; the others are the bulk actions of the same names. */
export const operationKinds = ["dlq_retry", "recover", "retry", "cancel", "discard"] as const;
/** What a bulk operation does to its deliveries. */
export type OperationKind = (typeof operationKinds)[number];

/** `pending`: the operation waits for its start time or for a process. The last three states are final. */
export const operationStatuses = [
  "pending",
  "running",
  "paused",
  "completed",
  "cancelled",
  "failed",
] as const;
/** State of a bulk operation; the last three are final. */
export type OperationStatus = (typeof operationStatuses)[number];

/**
 * Why a delivery of a selection is skipped. `accepted`: the delivery succeeded, and successful deliveries were not
 * requested. `order`: the delivery waits for its turn in an ordered lane. `already_retried`: the operation retried the
 * delivery before an interruption.
 */
export const exclusions = [
  "in_flight",
  "payload_gone",
  "order",
  "accepted",
  "already_retried",
  "already_ended",
  "not_a_dead_letter",
  "webhook_deleted",
  "not_found",
] as const;
/** Why a bulk operation skipped a delivery. */
export type Exclusion = (typeof exclusions)[number];
/** Number of skipped deliveries by reason. */
export type ExclusionCounts = Readonly<Partial<Record<Exclusion, number>>>;

/** Selects the deliveries of an operation. Times are instants, in Unix milliseconds. */
export type OperationSelection =
  | ({ readonly kind: "dead_letters" } & DeadLetterFilter)
  | ({ readonly kind: "deliveries" } & Pick<
      DeliveryFilter,
      "tenantId" | "webhookIds" | "states" | "from" | "to"
    >)
  | { readonly kind: "ids"; readonly tenantId: string | null; readonly ids: readonly string[] }
  | SearchSelection;

/** Dead letters by webhook, type, category and time. */
export type DeadLetterFilter = Pick<
  DeliveryFilter,
  "tenantId" | "webhookIds" | "eventTypes" | "categories" | "from" | "to"
>;

/** `statuses` and `waitingFor` are stored as requested, because the store cannot filter by all their values. */
export interface SearchSelection {
  readonly kind: "search";
  readonly filter: DeliveryFilter;
  readonly statuses: readonly DeliveryStatus[] | null;
  readonly waitingFor: readonly WaitingFor[] | null;
}

/** A recent error of an operation. */
export interface OperationError {
  readonly deliveryId: string | null;
  readonly message: string;
  readonly at: number;
}

/** Results of the deliveries that an operation sent again. Their sum is the `queued` of the operation. */
export interface OperationOutcome {
  /** Accepted by the receiver. */
  readonly delivered: number;
  /** Ended without success. */
  readonly failed: number;
  /** Waiting for a request or a response. */
  readonly waiting: number;
}

/** One bulk operation with its progress; `queued`, `failed` and `skipped` count towards `total`. */
export interface BatchOperation {
  readonly id: string;
  readonly tenantId: string | null;
  readonly kind: OperationKind;
  readonly status: OperationStatus;
  readonly selection: OperationSelection;
  /** Null keeps the priority of each delivery. */
  readonly priority: Priority | null;
  readonly requestsPerSecond: number;
  /** The operation stays `pending` until this time, Unix milliseconds; null starts immediately. */
  readonly startsAt: number | null;
  /** Determined when the operation starts; counted up to a limit. */
  readonly total: number;
  /** False if counting stopped at the limit. */
  readonly isTotalExact: boolean;
  /** Number of deliveries that the operation has requeued, cancelled or discarded. */
  readonly queued: number;
  readonly failed: number;
  readonly skipped: ExclusionCounts;
  /**
   * Results of the deliveries that the operation sent again; null if the operation sends nothing, and before the first
   * evaluation.
   */
  readonly outcome: OperationOutcome | null;
  /** Whether to close the open circuit of each webhook once, before sending to that webhook. */
  readonly closesCircuits: boolean;
  /** Where the process that runs the operation continues; null at the start. */
  readonly cursor: number | null;
  /** Only deliveries below this position are selected, so the operation does not process its own results. */
  readonly before: number | null;
  /** Recently measured rate; null while the operation is not running. */
  readonly ratePerSecond: number | null;
  /** Newest first. */
  readonly lastErrors: readonly OperationError[];
  /** The process that runs the operation. If another process takes over, the former one stops. */
  readonly runner: string | null;
  /** Incremented with each update. */
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly finishedAt: number | null;
}

/** Whether the operation is neither pending nor running, so no process should run it. */
export function isAtRest({ status }: Pick<BatchOperation, "status">): boolean {
  return status !== "pending" && status !== "running";
}

/** Initial values of an operation. */
export const newOperationDefaults = {
  startsAt: null,
  isTotalExact: true,
  queued: 0,
  failed: 0,
  skipped: {},
  outcome: null,
  closesCircuits: false,
  cursor: null,
  ratePerSecond: null,
  lastErrors: [],
  runner: null,
  revision: 0,
  finishedAt: null,
} satisfies Partial<BatchOperation>;
