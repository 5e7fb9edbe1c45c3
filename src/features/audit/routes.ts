import type { ApiOptions } from "../../http/context.ts";
import { formatInstant, inputOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import type { StoredAuditEntry } from "../../ports/store/audit.ts";
import { auditFilters, auditListSchema, auditQuerySchema } from "../../resources/audit.ts";
import { boundedSearch } from "../deliveries/routes.ts";

export function auditLogRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/audit-log",
    operationId: "listAuditLog",
    tag: "Audit log",
    summary: "List audited changes, newest first",
    description: `A tenant's key sees the changes of its tenant. Rows are never modified. ${boundedSearch}`,
    access: "manage",
    query: auditQuerySchema,
    answers: { 200: { description: "A page of changes.", schema: auditListSchema } },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const filters = inputOf(auditFilters, query);
      const listing = { tenantId: scope.tenantId, route: "audit log", filters };
      const page = pager.searchRequest(query, listing);
      const found = await services.audit.list(scope, { ...filters, page });
      return { status: 200, body: pager.searchAnswer(found, listing, entryJson) };
    },
  });
}

function entryJson(entry: StoredAuditEntry): Record<string, unknown> {
  const { actor, target } = entry;
  return {
    id: entry.id,
    at: formatInstant(entry.at),
    tenant_id: entry.tenantId,
    actor: {
      kind: actor.kind,
      key_id: actor.keyId,
      key_name: actor.keyName,
      role: actor.role,
      session_id: actor.sessionId,
      reference: actor.reference,
    },
    action: entry.action,
    route: entry.route,
    target: { type: target.type, id: target.id },
    changes: entry.changes,
    address: entry.address,
    request_id: entry.requestId,
  };
}
