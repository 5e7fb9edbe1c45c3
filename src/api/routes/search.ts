import type { SearchHit } from "../../services/services.ts";
import { rolesFor } from "../authentication.ts";
import type { ApiOptions } from "../context.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import { callerSchema, capabilities, searchHitsSchema, searchQuerySchema } from "../schemas/search.ts";

export function searchRoutes(options: ApiOptions): readonly Route[] {
  return [searchRoute(options), callerRoute(options)];
}

function searchRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/search",
    operationId: "search",
    tag: "Search",
    summary: "Find anything by an id, a key, or how a URL, a name or a description begins",
    access: "read",
    query: searchQuerySchema,
    answers: { 200: { description: "At most 20 hits, exact ones first.", schema: searchHitsSchema } },
    errors: [],
    handle: async ({ scope, query }) => ({
      status: 200,
      body: { data: (await services.search.find(scope, query.q)).map(hitJson) },
    }),
  });
}

function hitJson({ type, id, tenantId, title, matched }: SearchHit): Record<string, unknown> {
  return { type, id, tenant_id: tenantId, title, matched };
}

function callerRoute({ version }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/me",
    operationId: "getCaller",
    tag: "API keys",
    summary: "Whose key this is, and what it may do",
    access: "any",
    capability: "any",
    answers: { 200: { description: "The holder of the key.", schema: callerSchema } },
    errors: [],
    handle: async ({ principal }) => {
      if (principal === null) throw new Error("a route for keys was called without one");
      const { keyId, role, tenantId, portal } = principal;
      const may = portal?.capabilities ?? capabilities.filter((access) => rolesFor(access).includes(role));
      return {
        status: 200,
        body: { key_id: keyId, role, tenant_id: tenantId, capabilities: [...may], server_version: version },
      };
    },
  });
}
