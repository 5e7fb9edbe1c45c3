import { rolesFor } from "../../http/authentication.ts";
import type { ApiOptions } from "../../http/context.ts";
import { jsonOf } from "../../http/mapping.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import { callerSchema, capabilities, searchHitsSchema, searchQuerySchema } from "../../resources/search.ts";

export function searchRoutes({ services, version }: ApiOptions): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/search",
      operationId: "search",
      tag: "Search",
      summary: "Search by id, key, or the beginning of a URL, name or description",
      access: "read",
      query: searchQuerySchema,
      answers: { 200: { description: "Up to 20 hits, exact matches first.", schema: searchHitsSchema } },
      errors: [],
      handle: async ({ scope, query }) => ({
        status: 200,
        body: jsonOf(searchHitsSchema, { data: await services.search.find(scope, query.q) }),
      }),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/me",
      operationId: "getCaller",
      tag: "API keys",
      summary: "Get the owner and role of the API key",
      access: "any",
      capability: "any",
      answers: { 200: { description: "The principal of the key.", schema: callerSchema } },
      errors: [],
      handle: async ({ principal }) => {
        if (principal === null) throw new Error("a route that requires a key was called without one");
        const { keyId, role, tenantId, portal } = principal;
        const may = portal?.capabilities ?? capabilities.filter((access) => rolesFor(access).includes(role));
        return {
          status: 200,
          body: { key_id: keyId, role, tenant_id: tenantId, capabilities: [...may], server_version: version },
        };
      },
    }),
  ];
}
