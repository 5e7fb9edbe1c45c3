import type { Scope } from "../../domain/scope.ts";
import { type Clock, SearchBudget } from "../../ports/clock.ts";
import type { AuditEntry, AuditStore, StoredAuditEntry } from "../../ports/store/audit.ts";
import type { InputOf } from "../../resources/field.ts";
import { auditFilters } from "../../resources/audit.ts";
import { tenantFilter } from "../visibility.ts";
import {
  judgeFilters,
  searchBounds,
  type SearchedPage,
  searchedPage,
  type SearchPageRequest,
} from "../searched-pages.ts";

/** Null means that the value is omitted. */
type AuditListQuery = {
  readonly [Name in keyof InputOf<typeof auditFilters>]: InputOf<typeof auditFilters>[Name] | null;
} & { readonly page: SearchPageRequest };

/** The audit log, which is append-only. */
export class AuditLog {
  readonly #store: AuditStore;
  readonly #clock: Pick<Clock, "monotonicMs">;

  constructor(store: AuditStore, clock: Pick<Clock, "monotonicMs">) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Records a change that the service did not record in its own transaction. */
  append(entry: AuditEntry): Promise<void> {
    return this.#store.append(entry);
  }

  /** The audit log, newest first. An administrator gets all entries, a tenant only its own. */
  async list(scope: Scope, query: AuditListQuery): Promise<SearchedPage<StoredAuditEntry>> {
    judgeFilters(auditFilters, query);
    const { actor = null, action = null, target = null, from = null, to = null } = query;
    const tenantId = tenantFilter(scope, query.tenantId ?? null);
    const filter = { tenantId, actor, action, target, from, to };
    const budget = new SearchBudget(this.#clock, searchBounds);
    return searchedPage<StoredAuditEntry>(query.page, {
      budget,
      takes: null,
      read: (part) => this.#store.search({ filter, budget, ...part }),
      placeOf: ({ position }) => ({ position, dueAt: null }),
      createdAtOf: ({ at }) => at,
    });
  }
}
