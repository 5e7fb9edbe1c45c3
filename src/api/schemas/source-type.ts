/** The schema of `GET /v1/source-types`: core/gateway/source-type.ts with names in snake_case. */
import { closed, listOf, nullableSchema, oneOf } from "./building-blocks.ts";
import { Type } from "./type.ts";

const field = closed({
  name: Type.String(),
  kind: oneOf(["text", "texts", "number", "choice", "verifiers"], {
    description: "`texts` accepts one or several texts, such as two secrets during a rotation.",
  }),
  is_required: Type.Boolean(),
  is_secret: Type.Boolean({ description: "Encrypted in storage and masked in responses." }),
  choices: Type.Array(Type.String(), { description: "Empty unless `kind` is `choice`." }),
  description: Type.String(),
});

const provider = closed({
  documentation: Type.String({ format: "uri" }),
  steps: Type.Array(Type.String(), {
    description: "Steps to set up the provider; `{url}` is the address of the source, `{secret}` its secret.",
  }),
  remarks: Type.Array(Type.String()),
  signature: Type.String(),
  signed: Type.String({ description: "What the signature covers." }),
  replay_protection: Type.String(),
  forward_headers: Type.Array(Type.String()),
  address_check: nullableSchema(
    oneOf(["get", "head", "post"], { description: "How the provider verifies the address." }),
  ),
});

export const sourceTypeSchema = closed(
  {
    type: Type.String({ description: "Value of `verification.type`.", examples: ["github"] }),
    title: Type.String({ examples: ["GitHub"] }),
    fields: Type.Array(field),
    provider: nullableSchema(provider),
  },
  { title: "SourceType" },
);

export const sourceTypeListSchema = listOf(sourceTypeSchema, "SourceTypeList");
