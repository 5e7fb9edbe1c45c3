import { receiverCheckFields, urlCheckFields } from "../../core/fields/actions.ts";
import { closed, nullableSchema, oneOf } from "./building-blocks.ts";
import { schemaOf } from "./field-schema.ts";
import { Type } from "./type.ts";

export const urlCheckInputSchema = schemaOf(urlCheckFields, {
  title: "UrlCheckInput",
  examples: [{ url: "https://example.com/hooks" }],
});
export const urlCheckSchema = closed(
  {
    acceptable: Type.Boolean(),
    code: nullableSchema(Type.String({ description: "What is wrong, such as `scheme` or `address`." })),
    detail: nullableSchema(Type.String({ description: "An explanation that does not repeat the URL." })),
    duplicate_of: nullableSchema(Type.String({ description: "A webhook of the tenant with the same URL." })),
  },
  { title: "UrlCheck" },
);

export const receiverCheckInputSchema = schemaOf(receiverCheckFields, { title: "ReceiverCheckInput" });
export const receiverCheckSchema = closed(
  {
    findings: Type.Array(
      closed(
        {
          id: Type.String({ examples: ["altered-body"] }),
          title: Type.String({ description: "Description of the rule." }),
          level: oneOf(["must", "should"]),
          state: oneOf(["passed", "failed", "skipped"]),
          detail: Type.String({ description: "What was sent, and the response." }),
          hint: nullableSchema(Type.String({ description: "How to fix it; only with `failed`." })),
        },
        { title: "ReceiverFinding" },
      ),
    ),
  },
  { title: "ReceiverCheck" },
);
