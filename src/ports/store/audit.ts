import type { AuditRecord } from "../../domain/scope.ts";
import type { SearchBudget } from "../clock.ts";
import type { SearchPage, SearchPlace } from "./search.ts";

/**
 * The audit log: who changed what. Rows are append-only and are removed by retention. If a change is a single write to
 * the store, its audit row is written in the same transaction.
 */
export interface AuditStore {
  append(entry: AuditEntry): Promise<void>;
  /** Newest first. */
  search(search: AuditSearch): Promise<SearchPage<StoredAuditEntry>>;
}

/** A row of the audit log, written in the transaction of the change that it records. */
export type AuditEntry = AuditRecord;

/** A row with its position in the listing. */
export interface StoredAuditEntry extends AuditEntry {
  readonly position: number;
}

/** In each field, null disables the filter. */
export interface AuditFilter {
  /** If a tenant is set, rows of other tenants are invisible. */
  readonly tenantId: string | null;
  /** ID or name of a key, or ID of a session. */
  readonly actor: string | null;
  /** The whole action, or a prefix that ends before a dot, such as `webhook`. */
  readonly action: string | null;
  /** ID of the changed resource. */
  readonly target: string | null;
  /** Unix milliseconds, both inclusive. */
  readonly from: number | null;
  readonly to: number | null;
}

/** Works like `DeliverySearch`: a page ends when the search budget is spent. */
export interface AuditSearch {
  readonly filter: AuditFilter;
  readonly after: SearchPlace | null;
  readonly limit: number;
  readonly budget: SearchBudget;
}
