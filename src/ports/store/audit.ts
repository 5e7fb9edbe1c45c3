import type { AuditRecord } from "../../core/scope.ts";
import type { SearchBudget } from "../timing/search-budget.ts";
import type { SearchPage, SearchPlace } from "./search.ts";

/**
 * Who changed what. Rows are appended, each with the change where that is one write of the store, and removed by
 * retention; nothing changes them.
 */
export interface AuditStore {
  append(entry: AuditEntry): Promise<void>;
  /** Newest first. */
  search(search: AuditSearch): Promise<SearchPage<StoredAuditEntry>>;
}

/** One row. */
export type AuditEntry = AuditRecord;

/** A row with its place in the listing. */
export interface StoredAuditEntry extends AuditEntry {
  readonly position: number;
}

/** Null leaves a filter out. */
export interface AuditFilter {
  /** With a tenant set, rows of others do not exist. */
  readonly tenantId: string | null;
  /** Id or name of a key, or id of a session. */
  readonly actor: string | null;
  /** The whole action, or its beginning up to a dot, such as `webhook`. */
  readonly action: string | null;
  /** Id of what was changed. */
  readonly target: string | null;
  /** Unix milliseconds, both inclusive. */
  readonly from: number | null;
  readonly to: number | null;
}

/** Answered as `DeliverySearch` is: a page ends with its budget. */
export interface AuditSearch {
  readonly filter: AuditFilter;
  readonly after: SearchPlace | null;
  readonly limit: number;
  readonly budget: SearchBudget;
}
