import { NotFoundError } from "../../domain/errors.ts";
import type { ApiOptions } from "../../http/context.ts";
import { inputOf, jsonOf, snakeCaseJson } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { PlainRoutes } from "../../http/plain-routes.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import { serverAddress } from "../../http/server-address.ts";
import { closed, line, pageProperties } from "../../resources/schema.ts";
import {
  listedSourceSchema,
  serviceDescriptionSchema,
  sourceAcknowledgeFields,
  sourceAcknowledgeSchema,
  sourceAddressSchema,
  sourceFields,
  sourceResource,
  sourceRotateFields,
  sourceRotateSchema,
  sourceTypeListSchema,
  sourceTypeSchema,
} from "../../resources/source.ts";
import type { SourceView, SourceWithPath } from "./gateway-services.ts";

export function sourceTypeRoutes({ sourceTypes }: ApiOptions, pager: Pager): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/source-types",
      operationId: "listSourceTypes",
      tag: "Source types",
      summary: "List the verification types, providers first",
      description: "Includes the fields of each type, and setup steps for providers.",
      access: "any",
      query: closed(pageProperties),
      answers: { 200: { description: "The types with all details.", schema: sourceTypeListSchema } },
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

/** Addresses for inbound requests. */
export function sourceRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  const sources = () => options.gateway.sources;
  const routes = new PlainRoutes(
    sourceResource,
    (scope, id) => sources().get(scope, id),
    sourceJson,
    async (views, { include }: { readonly include?: readonly string[] }) => {
      const recent = include === undefined ? null : await sources().recent(views);
      return views.map((view) =>
        jsonOf(listedSourceSchema, { ...shownOf(view), recent: recent?.get(view.source.id) ?? null }),
      );
    },
  );
  return [
    createRoute(options),
    routes.list(
      {
        access: "read",
        summary: "List sources, newest first",
        answer: "A page of sources, without their addresses.",
      },
      pager,
      (scope, filters) => sources().list(scope, filters["tenantId"] as string | null),
      ({ source }) => source.id,
    ),
    routes.get({ access: "read", answer: "The source, with its secrets masked." }),
    routes.update(
      {
        access: "manage",
        description:
          "Omitted fields keep their values. If `verification` is given, it replaces the previous one completely.",
        errors: ["not_found", "conflict", "acknowledgement_required"],
      },
      (scope, id, input) => sources().update(scope, id, input),
    ),
    routes.delete(
      {
        access: "manage",
        summary: "Delete a source with its connections",
        description:
          "Its address returns 404 from now on. To inform senders that it is gone, set `when_inactive` instead.",
      },
      (scope, id) => sources().delete(scope, id),
      ["name", "party"],
    ),
    routes.action(
      "address",
      {
        method: "GET",
        operationId: "getSourceAddress",
        summary: "Get the secret address of a source",
        access: "manage",
        answer: "The current address.",
        schema: sourceAddressSchema,
        answerIsSecret: true,
        // Revealing a secret is audited like a change.
        audit: { action: "source.read_address", target: "source", before: routes.shown },
      },
      (scope, id, _, { headers }) => addressJson(options, sources().address(scope, id), headers),
    ),
    routes.action(
      "rotate",
      {
        place: "/address/rotate",
        operationId: "rotateSourceAddress",
        summary: "Rotate the secret address of a source",
        takes: sourceRotateFields,
        body: sourceRotateSchema,
        bodyOptional: true,
        answer: "The new address.",
        schema: sourceAddressSchema,
        answerIsSecret: true,
        audit: { action: "source.rotate", target: "source" },
      },
      async (scope, id, input, { headers }) =>
        addressJson(options, await sources().rotate(scope, id, input), headers),
    ),
    routes.action(
      "acknowledge",
      {
        summary: "Acknowledge store and forward on behalf of the senders of a source",
        description:
          "Called by an administrator after the operator of the sender has read `GET /service-description`. Without it, messages are acknowledged only after delivery.",
        access: "admin",
        takes: sourceAcknowledgeFields,
        body: sourceAcknowledgeSchema,
        answer: "The updated source.",
        errors: ["not_found", "conflict"],
      },
      async (scope, id, { version }, { principal }) => {
        const keyId = principal?.keyId ?? "";
        const by = options.services.apiKeys.nameOf(keyId) ?? keyId;
        return sourceJson(await sources().acknowledge(scope, id, version, by));
      },
    ),
    descriptionRoute(options),
  ];
}

function sourceJson(view: SourceView): Record<string, unknown> {
  return jsonOf(sourceResource.schemas.one, shownOf(view));
}

function shownOf({ source, verification, warnings, effectiveMode }: SourceView) {
  return {
    ...source,
    verification,
    warnings,
    effectiveMode,
    acknowledgedBy: source.acknowledgement?.by ?? null,
    acknowledgedAt: source.acknowledgement?.at ?? null,
  };
}

/** The secret address of a source. Listings omit it, and responses that contain it must not be cached. */
function addressJson(
  options: ApiOptions,
  { view, path }: SourceWithPath,
  headers: Call["headers"],
): Record<string, unknown> {
  const address = options.inboundUrl?.() ?? serverAddress(options, headers);
  const { id, party } = view.source;
  return {
    source_id: id,
    url: `${address}${path}`,
    party_url: party === null ? null : `${address}/_webhooks/${party}`,
    source: sourceJson(view),
  };
}

function createRoute(options: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/sources",
    operationId: "createSource",
    tag: "Gateway",
    summary: "Create a source",
    description: "Messages are verified according to `verification` and forwarded to the connected webhooks.",
    access: "manage",
    body: sourceResource.schemas.create,
    answers: { 201: { description: "The source, with its secret address.", schema: sourceAddressSchema } },
    errors: ["conflict", "limit_reached", "acknowledgement_required"],
    answerIsSecret: true,
    audit: { action: "source.create", target: "source", idFrom: "source_id" },
    handle: async ({ scope, body, headers }) => {
      const created = await options.gateway.sources.create(scope, inputOf(sourceFields, body));
      return {
        status: 201,
        headers: { "cache-control": "no-store" },
        body: addressJson(options, created, headers),
      };
    },
  });
}

function descriptionRoute({ gateway }: ApiOptions): Route {
  return defineRoute({
    method: "GET",
    path: "/service-description",
    operationId: "getServiceDescription",
    tag: "Gateway",
    summary: "Get the service description for senders",
    description:
      "Requires no key. Describes the durability, retries, deduplication and retention of each mode.",
    access: "public",
    answers: {
      200: {
        description: "Generated from the profiles that deliveries follow.",
        schema: serviceDescriptionSchema,
      },
    },
    errors: [],
    handle: async () => {
      const { version, content } = gateway.description();
      return { status: 200, body: { version, ...content } };
    },
  });
}
