import { tenantFields, tenantShown } from "../../core/fields/tenant.ts";
import type { Tenant } from "../../ports/store/registry.ts";
import type { ApiOptions } from "../context.ts";
import { inputOf, shownJson } from "../mapping/fields.ts";
import type { Pager } from "../paging.ts";
import { defineRoute } from "../route.ts";
import type { Call, Route } from "../route.ts";
import { closed, pageProperties, tenantIdSchema } from "../schemas/building-blocks.ts";
import { tenantInputSchema, tenantListSchema, tenantSchema } from "../schemas/registry.ts";

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
