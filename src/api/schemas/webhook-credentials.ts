/** What a webhook shows to its receiver beside signatures. Every secret is write-only. */
import { Type } from "typebox";
import type { TProperties } from "typebox";
import { urlLengthMax } from "../../core/egress/url-policy.ts";
import { customHeaderLimits } from "../../core/request-headers.ts";
import { closed, instant, line, nullable, oneOf } from "./building-blocks.ts";

const pem = (what: string) => Type.String({ minLength: 1, maxLength: 16_384, description: what });

const clientCertificateInput = closed(
  {
    certificate_pem: pem("The certificate and its chain, in PEM."),
    private_key_pem: pem("Its private key, in PEM and without a passphrase; never shown."),
  },
  { title: "ClientCertificateInput", description: "For mutual TLS; both change together." },
);

const oauth2Input = closed(
  {
    token_url: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: urlLengthMax,
        description: "Judged like the webhook's own URL.",
      }),
    ),
    client_id: Type.Optional(line(512, { minLength: 1 })),
    client_secret: Type.Optional(
      line(2_048, {
        minLength: 1,
        description: "Never shown. Needed with the first client, and with a new token_url.",
      }),
    ),
    scope: Type.Optional(nullable(line(1_024, { minLength: 1 }))),
    audience: Type.Optional(nullable(line(1_024, { minLength: 1 }))),
    authentication: Type.Optional(
      oneOf(["basic", "body"], {
        default: "basic",
        description: "How the client names itself to the token URL.",
      }),
    ),
  },
  {
    title: "OAuth2ClientInput",
    description: "Client credentials (RFC 6749, 4.4) that get a bearer token for each delivery.",
    examples: [{ token_url: "https://auth.example.com/token", client_id: "posthorn", client_secret: "…" }],
  },
);

export const credentialInputs = {
  bearer_token: nullable(
    Type.String({
      minLength: 1,
      maxLength: 2_048,
      description: "Sent as `Authorization: Bearer`; kept encrypted and never shown.",
    }),
  ),
  bearer_token_in: nullable(
    oneOf(["header", "query"], {
      description: "`query` sends the token as `access_token` of the URL, for receivers that take no header.",
    }),
  ),
  credential_headers: nullable(
    Type.Unsafe<Record<string, string>>({
      type: "object",
      additionalProperties: { type: "string" },
      maxProperties: customHeaderLimits.countMax,
      description: "Like `headers`, but secret: kept encrypted, of which answers show the names alone.",
      examples: [{ "X-Api-Key": "…" }],
    }),
  ),
  client_certificate: nullable(clientCertificateInput),
  oauth2: nullable(oauth2Input),
} satisfies TProperties;

const clientCertificateSchema = closed(
  {
    subject: Type.String(),
    issuer: Type.String(),
    fingerprint_sha256: Type.String({ description: "In hex, with colons." }),
    expires_at: instant("When it expires."),
    warning: nullable(Type.String({ description: "Set from two weeks before it expires." })),
  },
  { title: "ClientCertificate" },
);

const oauth2Schema = closed(
  {
    token_url: Type.String(),
    client_id: Type.String(),
    scope: nullable(Type.String()),
    audience: nullable(Type.String()),
    authentication: oneOf(["basic", "body"]),
  },
  { title: "OAuth2Client", description: "Its secret is not shown." },
);

export const credentialProperties = {
  has_bearer_token: Type.Boolean(),
  bearer_token_in: oneOf(["header", "query"]),
  credential_headers: Type.Unsafe<Record<string, string>>({
    type: "object",
    additionalProperties: { type: "string" },
    description: "The names; every value is `…`.",
  }),
  client_certificate: nullable(clientCertificateSchema),
  oauth2: nullable(oauth2Schema),
} satisfies TProperties;
