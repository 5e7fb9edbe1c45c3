import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import type { ApiOptions } from "../../http/context.ts";
import { inputOf, jsonOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { PlainRoutes } from "../../http/plain-routes.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import { apiKeyCreatedSchema, apiKeyFields, apiKeyResource } from "../../resources/api-key.ts";
import { tenantResource } from "../../resources/tenant.ts";

export function apiKeyRoutes({ services }: ApiOptions, pager: Pager): readonly Route[] {
  const { apiKeys } = services;
  const routes = new PlainRoutes(
    apiKeyResource,
    async (scope, id) => {
      const found = (await apiKeys.list(scope)).find((key) => key.id === id);
      if (found === undefined) throw new NotFoundError("the API key");
      return found;
    },
    (key) => jsonOf(apiKeyResource.schemas.one, key),
  );
  return [
    defineRoute({
      method: "POST",
      path: "/v1/api-keys",
      operationId: "createApiKey",
      tag: "API keys",
      summary: "Create an API key",
      description:
        "The key is shown only in this response. A tenant's `manage` key creates keys for its own tenant.",
      access: "manage",
      body: apiKeyResource.schemas.create,
      answers: { 201: { description: "The key.", schema: apiKeyCreatedSchema } },
      errors: ["not_found", "limit_reached"],
      answerIsSecret: true,
      audit: { action: "api_key.create", target: "api_key" },
      handle: async ({ scope, body }) => {
        // Checked here in addition to the services, so that preventing privilege escalation does not depend on a single
        // check.
        const input = inputOf(apiKeyFields, body);
        const tenantId = input.tenantId ?? scope.tenantId;
        const asksForMore = input.role === "admin" || tenantId !== scope.tenantId;
        if (scope.tenantId !== null && asksForMore) {
          throw new PosthornError("forbidden", "A tenant's key can only create keys for its own tenant.");
        }
        const { apiKey, key } = await apiKeys.create(scope, { ...input, tenantId });
        const answer = { ...jsonOf(apiKeyResource.schemas.one, apiKey), key };
        return { status: 201, headers: { "cache-control": "no-store" }, body: answer };
      },
    }),
    routes.list(
      { access: "manage", answer: "A page of keys, without the secret values." },
      pager,
      (scope) => apiKeys.list(scope),
      ({ id }) => id,
    ),
    routes.delete(
      { access: "manage", answer: "The key is revoked.", errors: ["not_found", "conflict"] },
      (scope, id) => apiKeys.revoke(scope, id),
      ["name", "role"],
      "revoke",
    ),
  ];
}

export function tenantRoutes({ services: { tenants } }: ApiOptions, pager: Pager): readonly Route[] {
  const routes = new PlainRoutes(
    tenantResource,
    (scope, id) => tenants.get(scope, id),
    (tenant) => jsonOf(tenantResource.schemas.one, tenant),
  );
  return [
    routes.list(
      { access: "admin" },
      pager,
      (scope) => tenants.list(scope),
      ({ id }) => id,
    ),
    routes.get({ access: "read" }),
    routes.put(
      { access: "admin", description: "Omitted fields keep their values.", errors: ["limit_reached"] },
      async (scope, id, input) => {
        const { tenant, created } = await tenants.put(scope, { id, input });
        return { row: tenant, created };
      },
      (id) => ({ tenant_id: id }),
    ),
  ];
}
