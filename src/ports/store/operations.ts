import type { Priority } from "../../core/delivery.ts";
import type { Page, PageRequest } from "../store.ts";
import type { DeadLetterQuery, DeliveryQuery } from "./history.ts";

/** Bulk work that survives a restart: dead-letter retries and recoveries (WDS-112, 113). */
export interface OperationStore {
  save(operation: BatchOperation): Promise<void>;
  get(query: { readonly tenantId: string | null; readonly id: string }): Promise<BatchOperation | null>;
  /** Newest first. */
  list(query: OperationQuery): Promise<Page<BatchOperation>>;
  /** Operations that are not finished, oldest first. */
  unfinished(): Promise<readonly BatchOperation[]>;
}

/** A page of operations: those of a tenant, or with null those of all. */
export interface OperationQuery {
  readonly tenantId: string | null;
  readonly page: PageRequest;
}

/** One bulk operation with its progress; `queued` and `failed` count towards `total`. */
export interface BatchOperation {
  readonly id: string;
  readonly tenantId: string | null;
  readonly kind: "dlq_retry" | "recover";
  readonly status: "pending" | "running" | "completed" | "cancelled" | "failed";
  readonly selection:
    | ({ readonly kind: "dead_letters" } & Omit<DeadLetterQuery, "page">)
    | ({ readonly kind: "deliveries" } & Omit<DeliveryQuery, "page">);
  readonly priority: Priority;
  readonly requestsPerSecond: number;
  /** Known at start, counted no further than a bound. */
  readonly total: number;
  readonly queued: number;
  readonly failed: number;
  /** Deliveries at or above this position were there when the operation began; it never chases its own work. */
  readonly before: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}
