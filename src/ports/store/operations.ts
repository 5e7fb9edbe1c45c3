import type { DeliveryStatus, Priority, WaitingFor } from "../../core/delivery.ts";
import type { Page, PageRequest } from "../store.ts";
import type { AuditEntry } from "./audit.ts";
import type { DeadLetterQuery, DeliveryQuery } from "./history.ts";
import type { DeliveryFilter } from "./search.ts";

/** Bulk work that survives a restart: retries, recoveries, cancellations, discarding (WDS-112, 113). */
export interface OperationStore {
  /** A new one; with the row of the audit log, in the same transaction. */
  save(operation: BatchOperation, audit?: AuditEntry): Promise<void>;
  /**
   * Writes it with the next revision if nobody wrote another one since this one was read; false, and nothing written, if
   * somebody did.
   */
  update(operation: BatchOperation, audit?: AuditEntry): Promise<boolean>;
  get(query: { readonly tenantId: string | null; readonly id: string }): Promise<BatchOperation | null>;
  /** Newest first. */
  list(query: OperationQuery): Promise<Page<BatchOperation>>;
  /** Operations that a process should be at work on, oldest first. */
  unfinished(): Promise<readonly BatchOperation[]>;
}

/** A page of operations: those of a tenant, or with null those of all. */
export interface OperationQuery {
  readonly tenantId: string | null;
  readonly page: PageRequest;
}

/** `dlq_retry` and `recover` have selections of their own; the others are the bulk actions of their names. */
export const operationKinds = ["dlq_retry", "recover", "retry", "cancel", "discard"] as const;
/** What an operation does. */
export type OperationKind = (typeof operationKinds)[number];

/** `pending` is about to run, or waits for a process; the last three are its ends. */
export const operationStatuses = [
  "pending",
  "running",
  "paused",
  "completed",
  "cancelled",
  "failed",
] as const;
/** How far it is. */
export type OperationStatus = (typeof operationStatuses)[number];

/**
 * Why a delivery of a selection is left as it is. `accepted`: it was, and nobody asked for successes. `order`: it waits in
 * an ordered lane for its turn. `already_retried`: the operation retried it before it was interrupted.
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
/** One of these reasons. */
export type Exclusion = (typeof exclusions)[number];
/** How many were left for each reason. */
export type ExclusionCounts = Readonly<Partial<Record<Exclusion, number>>>;

/** What an operation works through. Times are instants, Unix milliseconds. */
export type OperationSelection =
  | ({ readonly kind: "dead_letters" } & Omit<DeadLetterQuery, "page">)
  | ({ readonly kind: "deliveries" } & Omit<DeliveryQuery, "page">)
  | { readonly kind: "ids"; readonly tenantId: string | null; readonly ids: readonly string[] }
  | SearchSelection;

/** `statuses` and `waitingFor` as they were asked for, because the store cannot tell all of them. */
export interface SearchSelection {
  readonly kind: "search";
  readonly filter: DeliveryFilter;
  readonly statuses: readonly DeliveryStatus[] | null;
  readonly waitingFor: readonly WaitingFor[] | null;
}

/** One of the last things that went wrong. */
export interface OperationError {
  readonly deliveryId: string | null;
  readonly message: string;
  readonly at: number;
}

/** Deliveries that an operation sent again, by what became of them; together they are its `queued`. */
export interface OperationOutcome {
  /** The receiver accepted them. */
  readonly delivered: number;
  /** They ended without that. */
  readonly failed: number;
  /** They wait for a request, or for the answer to one. */
  readonly waiting: number;
}

/** One bulk operation with its progress; `queued`, `failed` and `skipped` count towards `total`. */
export interface BatchOperation {
  readonly id: string;
  readonly tenantId: string | null;
  readonly kind: OperationKind;
  readonly status: OperationStatus;
  readonly selection: OperationSelection;
  /** Null keeps that of each delivery. */
  readonly priority: Priority | null;
  readonly requestsPerSecond: number;
  /** It stays `pending` until then, Unix milliseconds; null begins at once. */
  readonly startsAt: number | null;
  /** Known at start, counted no further than a bound. */
  readonly total: number;
  /** False where counting stopped at its bound. */
  readonly isTotalExact: boolean;
  /** Deliveries that it has acted on: queued again, cancelled or discarded. */
  readonly queued: number;
  readonly failed: number;
  readonly skipped: ExclusionCounts;
  /** What became of the deliveries that it sent again; null where it sends nothing, and before the first look. */
  readonly outcome: OperationOutcome | null;
  /** It closes each open circuit once, before it sends to that webhook. */
  readonly closesCircuits: boolean;
  /** How far it came, for who goes on with it; null where it is found by looking. */
  readonly cursor: number | null;
  /** Deliveries at or above this position were there when the operation began; it never chases its own work. */
  readonly before: number | null;
  /** As measured lately; null while it does not run. */
  readonly ratePerSecond: number | null;
  /** Newest first. */
  readonly lastErrors: readonly OperationError[];
  /** Whoever is at work on it; another one makes the former stop. */
  readonly runner: string | null;
  /** Of its document; raised by each update. */
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly finishedAt: number | null;
}

/** Whether no process should be at work on it. */
export function isAtRest({ status }: Pick<BatchOperation, "status">): boolean {
  return status !== "pending" && status !== "running";
}

/** What an operation begins with. */
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
