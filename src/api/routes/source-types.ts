import { NotFoundError } from "../../core/errors.ts";
import type { ApiOptions } from "../context.ts";
import { snakeCaseJson } from "../mapping/snake-case.ts";
import type { Pager } from "../paging.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import { closed, line, pageProperties } from "../schemas/building-blocks.ts";
import { sourceTypeListSchema, sourceTypeSchema } from "../schemas/source-type.ts";

export function sourceTypeRoutes({ sourceTypes }: ApiOptions, pager: Pager): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/source-types",
      operationId: "listSourceTypes",
      tag: "Source types",
      summary: "List the verification types, providers first",
      description: "With the fields of each type, and setup steps for providers.",
      access: "any",
      query: closed(pageProperties),
      answers: { 200: { description: "The types in full.", schema: sourceTypeListSchema } },
      errors: ["invalid_cursor"],
      handle: async ({ query }) => {
        const listing = { tenantId: null, route: "source-types", filters: {} };
        const body = pager.slice(sourceTypes, {
          query,
          listing,
          idOf: ({ type }) => type,
          toJson: snakeCaseJson,
        });
        return { status: 200, body };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/v1/source-types/{type}",
      operationId: "getSourceType",
      tag: "Source types",
      summary: "Get a verification type",
      access: "any",
      params: closed({ type: line(64) }),
      answers: { 200: { description: "The type.", schema: sourceTypeSchema } },
      errors: ["not_found"],
      handle: async ({ params }) => {
        const found = sourceTypes.find(({ type }) => type === params.type);
        if (found === undefined) throw new NotFoundError("this source type");
        return { status: 200, body: snakeCaseJson(found) };
      },
    }),
  ];
}
