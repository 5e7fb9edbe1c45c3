/** The visible parts of a webhook's credentials. Every secret is write-only. */
import { Type } from "./type.ts";
import type { Properties } from "./type.ts";
import { oauth2Shown } from "../../core/fields/webhook-credentials.ts";
import { closed, instant, nullableSchema, oneOf } from "./building-blocks.ts";
import { shownSchemaOf } from "./field-schema.ts";

const clientCertificateSchema = closed(
  {
    subject: Type.String(),
    issuer: Type.String(),
    fingerprint_sha256: Type.String({ description: "Hexadecimal, separated by colons." }),
    expires_at: instant("When it expires."),
    warning: nullableSchema(Type.String({ description: "Set from two weeks before expiry." })),
  },
  { title: "ClientCertificate" },
);

const oauth2Schema = shownSchemaOf(oauth2Shown, {
  title: "OAuth2Client",
  description: "The secret is not shown.",
});

export const credentialProperties = {
  has_bearer_token: Type.Boolean(),
  bearer_token_in: oneOf(["header", "query"]),
  credential_headers: Type.Unsafe<Record<string, string>>({
    type: "object",
    additionalProperties: { type: "string" },
    description: "Only the names; every value is `…`.",
  }),
  client_certificate: nullableSchema(clientCertificateSchema),
  oauth2: nullableSchema(oauth2Schema),
} satisfies Properties;
