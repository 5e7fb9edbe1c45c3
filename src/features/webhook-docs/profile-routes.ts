import { NotFoundError } from "../../domain/errors.ts";
import type { Profile } from "../../domain/profile.ts";
import { exampleEvent, exampleKeys, exampleMessage } from "../../domain/profiles/example-message.ts";
import type { ApiOptions } from "../../http/context.ts";
import { snakeCaseJson } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import { profileListSchema, profileWithExampleSchema } from "../../resources/profile.ts";
import { closed, line, pageProperties } from "../../resources/schema.ts";

export function profileRoutes({ profiles }: ApiOptions, pager: Pager): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/v1/profiles",
      operationId: "listProfiles",
      tag: "Profiles",
      summary: "List the delivery profiles, the default first",
      access: "any",
      capability: "any",
      query: closed(pageProperties),
      answers: { 200: { description: "The profiles in full.", schema: profileListSchema } },
      errors: ["invalid_cursor"],
      handle: async ({ query }) => {
        const listing = { tenantId: null, route: "profiles", filters: {} };
        const body = pager.slice(profiles, {
          query,
          listing,
          idOf: (profile) => profile.name,
          toJson: snakeCaseJson,
        });
        return { status: 200, body };
      },
    }),
    defineRoute({
      method: "GET",
      path: "/v1/profiles/{name}",
      operationId: "getProfile",
      tag: "Profiles",
      summary: "Get a delivery profile",
      description:
        "The meaning of each status, when deliveries are retried, and what is sent, with an example.",
      access: "any",
      capability: "any",
      params: closed({ name: line(64) }),
      answers: { 200: { description: "The profile.", schema: profileWithExampleSchema } },
      errors: ["not_found"],
      handle: async ({ params }) => {
        const profile = profiles.find(({ name }) => name === params.name);
        if (profile === undefined) throw new NotFoundError("this profile");
        return {
          status: 200,
          body: { ...(snakeCaseJson(profile) as object), example: exampleJson(profile) },
        };
      },
    }),
  ];
}

function exampleJson(profile: Profile): object {
  const { url, secret, publicKey } = exampleKeys;
  return {
    url,
    secret,
    public_key: publicKey,
    messages: profile.payloadFormats.map((format) => {
      const { headers, body } = exampleMessage(profile, { format, ...exampleEvent });
      return { payload_format: format, headers: headers.map(([name, value]) => ({ name, value })), body };
    }),
  };
}
