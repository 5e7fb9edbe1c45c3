import { PosthornError } from "../../core/errors.ts";
import { apiKeyFields, apiKeyShown } from "../../core/fields/api-key.ts";
import type { ApiOptions } from "../context.ts";
import { inputOf, shownJson } from "../mapping/fields.ts";
import type { Pager } from "../paging.ts";
import { defineRoute } from "../route.ts";
import type { Call, Route } from "../route.ts";
import { closed, idParam, pageProperties } from "../schemas/building-blocks.ts";
import { apiKeyCreatedSchema, apiKeyInputSchema, apiKeyListSchema } from "../schemas/registry.ts";

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
