import { PosthornError } from "../../domain/errors.ts";
import type { ApiOptions } from "../../http/context.ts";
import { inputOf, shownJson } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import type { Tenant } from "../../ports/store/registry.ts";
import {
  apiKeyCreatedSchema,
  apiKeyFields,
  apiKeyInputSchema,
  apiKeyListSchema,
  apiKeyShown,
  tenantFields,
  tenantInputSchema,
  tenantListSchema,
  tenantSchema,
  tenantShown,
} from "../../resources/registry.ts";
import { closed, idParam, pageProperties, tenantIdSchema } from "../../resources/schema.ts";

export function apiKeyRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [createRoute(options), listRoute(options, pager), revokeRoute(options)];
}

function createRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/api-keys",
    operationId: "createApiKey",
    tag: "API keys",
    summary: "Create an API key",
    description:
      "The key is shown only in this response. A tenant's `manage` key creates keys for its own tenant.",
    access: "manage",
    body: apiKeyInputSchema,
    answers: { 201: { description: "The key.", schema: apiKeyCreatedSchema } },
    errors: ["not_found", "limit_reached"],
    answerIsSecret: true,
    audit: { action: "api_key.create", target: "api_key" },
    handle: async ({ scope, body }) => {
      // Checked here as well as in the services, so that privilege escalation does not depend on a single check.
      const input = inputOf(apiKeyFields, body);
      const tenantId = input.tenantId ?? scope.tenantId;
      const asksForMore = input.role === "admin" || tenantId !== scope.tenantId;
      if (scope.tenantId !== null && asksForMore) {
        throw new PosthornError("forbidden", "A tenant's key can only create keys for its own tenant.");
      }
      const { apiKey, key } = await services.apiKeys.create(scope, { ...input, tenantId });
      const answer = { ...shownJson(apiKeyShown, apiKey), key };
      return { status: 201, headers: { "cache-control": "no-store" }, body: answer };
    },
  });
}

function listRoute({ services }: ApiOptions, pager: Pager): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/api-keys",
    operationId: "listApiKeys",
    tag: "API keys",
    summary: "List API keys",
    access: "manage",
    query: closed(pageProperties),
    answers: {
      200: { description: "A page of keys, without the secret values.", schema: apiKeyListSchema },
    },
    errors: ["invalid_cursor"],
    handle: async ({ scope, query }) => {
      const listing = { tenantId: scope.tenantId, route: "api keys", filters: {} };
      const rows = await services.apiKeys.list(scope);
      return {
        status: 200,
        body: pager.slice(rows, {
          query,
          listing,
          idOf: (row) => row.id,
          toJson: (row) => shownJson(apiKeyShown, row),
        }),
      };
    },
  });
}

function revokeRoute({ services }: ApiOptions): Route {
  return defineRoute({
    method: "DELETE",
    path: "/v1/api-keys/{id}",
    operationId: "revokeApiKey",
    tag: "API keys",
    summary: "Revoke an API key",
    access: "manage",
    params: closed({ id: idParam("the key") }),
    answers: { 204: { description: "The key is revoked." } },
    errors: ["not_found", "conflict"],
    audit: {
      action: "api_key.revoke",
      target: "api_key",
      before: async ({ scope, params }: Call<{ readonly id: string }>) => {
        const own = await services.apiKeys.list(scope);
        const found = own.find(({ id }) => id === params.id);
        return found === undefined ? {} : shownJson(apiKeyShown, found);
      },
      removes: ["name", "role"],
    },
    handle: async ({ scope, params }) => {
      await services.apiKeys.revoke(scope, params.id);
      return { status: 204 };
    },
  });
}

const params = closed({ id: tenantIdSchema });

const tenantJson = (tenant: Tenant) => shownJson(tenantShown, tenant);

export function tenantRoutes({ services }: ApiOptions, pager: Pager): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/tenants",
      operationId: "listTenants",
      tag: "Tenants",
      summary: "List tenants",
      access: "admin",
      query: closed(pageProperties),
      answers: { 200: { description: "A page of tenants.", schema: tenantListSchema } },
      errors: ["invalid_cursor"],
      handle: async ({ scope, query }) => {
        const listing = { tenantId: scope.tenantId, route: "tenants", filters: {} };
        const rows = await services.tenants.list(scope);
        const body = pager.slice(rows, { query, listing, idOf: (row) => row.id, toJson: tenantJson });
        return { status: 200, body };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/v1/tenants/{id}",
      operationId: "getTenant",
      tag: "Tenants",
      summary: "Get a tenant",
      access: "read",
      params,
      answers: { 200: { description: "The tenant.", schema: tenantSchema } },
      errors: ["not_found"],
      handle: async ({ scope, params: { id } }) => ({
        status: 200,
        body: tenantJson(await services.tenants.get(scope, id)),
      }),
    }),
    defineRoute({
      method: "PUT",
      path: "/v1/tenants/{id}",
      operationId: "putTenant",
      tag: "Tenants",
      summary: "Create or update a tenant",
      description: "Omitted fields keep their values.",
      access: "admin",
      params,
      body: tenantInputSchema,
      answers: {
        200: { description: "Changed.", schema: tenantSchema },
        201: { description: "Created.", schema: tenantSchema },
      },
      errors: ["limit_reached"],
      audit: {
        action: "tenant.put",
        target: "tenant",
        before: async ({ scope, params: asked }: Call<{ readonly id: string }>) => ({
          tenant_id: asked.id,
          ...tenantJson(await services.tenants.get(scope, asked.id)),
        }),
      },
      handle: async ({ scope, params: { id }, body }) => {
        const input = inputOf(tenantFields, body);
        const { tenant, created } = await services.tenants.put(scope, { id, input });
        return { status: created ? 201 : 200, body: tenantJson(tenant) };
      },
    }),
  ];
}
