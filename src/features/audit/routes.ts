import type { ApiOptions } from "../../http/context.ts";
import { inputOf, jsonOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import { auditEntrySchema, auditFilters, auditListSchema, auditQuerySchema } from "../../resources/audit.ts";
import { boundedSearch } from "../deliveries/routes.ts";

export function auditLogRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/audit-log",
    operationId: "listAuditLog",
    tag: "Audit log",
    summary: "List audited changes, newest first",
    description: `A tenant's key lists only the changes of its tenant. Rows are never modified. ${boundedSearch}`,
    access: "manage",
    query: auditQuerySchema,
    answers: { 200: { description: "A page of changes.", schema: auditListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const filters = inputOf(auditFilters, query);
      const listing = { tenantId: scope.tenantId, route: "audit log", filters };
      const page = pager.searchRequest(query, listing);
      const found = await services.audit.list(scope, { ...filters, page });
      return {
        status: 200,
        body: pager.searchAnswer(found, listing, (entry) => jsonOf(auditEntrySchema, entry)),
      };
    },
  });
}
