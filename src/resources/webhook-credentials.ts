import { urlLengthMax } from "../domain/egress/url-policy.ts";
import { customHeaderLimits } from "../domain/http/request-headers.ts";
import {
  choice,
  type Fields,
  headers,
  type InputOf,
  line,
  nullable,
  object,
  required,
  secret,
  text,
  url,
  word,
} from "./field.ts";
import { closed, instant, nullableSchema, oneOf, type Properties, shownSchemaOf, Type } from "./schema.ts";

/** Credentials that a webhook sends to its receiver in addition to signatures. Every secret is write-only. */

const pem = (doc: string) => required(text({ lengthMin: 1, lengthMax: 16_384, doc }));

const clientCertificateFields = {
  certificatePem: pem("The certificate and its chain, in PEM."),
  privateKeyPem: secret(pem("Its private key, in PEM and without a passphrase; never shown.")),
} satisfies Fields;
export type ClientCertificateInput = InputOf<typeof clientCertificateFields>;

const tokenRequestText = { lengthMin: 1, lengthMax: 1_024 };

/** OAuth 2.0 client credentials (RFC 6749, 4.4). */
const oauth2Fields = {
  tokenUrl: url({ lengthMax: urlLengthMax, doc: "Validated like the webhook's URL." }),
  clientId: line({ lengthMin: 1, lengthMax: 512 }),
  clientSecret: secret(
    line({
      lengthMin: 1,
      lengthMax: 2_048,
      doc: "Never shown. Required with the first client, and with a new token_url.",
    }),
  ),
  scope: nullable(line(tokenRequestText)),
  audience: nullable(line(tokenRequestText)),
  authentication: choice(["basic", "body"], {
    default: "basic",
    doc: "How the client authenticates at the token URL.",
  }),
} satisfies Fields;
const { clientSecret: _secret, ...oauth2Shown } = oauth2Fields;
export type OAuth2Input = InputOf<typeof oauth2Fields>;

export const headerBounds = {
  countMax: customHeaderLimits.countMax,
  valueLengthMax: customHeaderLimits.valueBytesMax,
};

export const credentialFields = {
  bearerToken: nullable(
    secret(
      word({
        lengthMax: 2_048,
        // RFC 6750; other characters would not survive in the header.
        pattern: "^[A-Za-z0-9\\-._~+\\/]+={0,2}$",
        rule: "a token of letters, digits and -._~+/",
        doc: "Sent as `Authorization: Bearer`; stored encrypted and never shown.",
      }),
    ),
  ),
  bearerTokenIn: nullable(
    choice(["header", "query"], {
      doc: "`query` sends the token as the `access_token` query parameter, for receivers that do not accept the header.",
    }),
  ),
  credentialHeaders: nullable(
    secret(
      headers({
        ...headerBounds,
        doc: "Like `headers`, but secret: stored encrypted; responses show only the names.",
        examples: [{ "X-Api-Key": "…" }],
      }),
    ),
  ),
  clientCertificate: nullable(
    object(clientCertificateFields, {
      title: "ClientCertificateInput",
      doc: "For mutual TLS; certificate and key change together.",
    }),
  ),
  oauth2: nullable(
    object(oauth2Fields, {
      title: "OAuth2ClientInput",
      doc: "Client credentials (RFC 6749, 4.4) that get a bearer token for each delivery.",
      examples: [{ token_url: "https://auth.example.com/token", client_id: "posthorn", client_secret: "…" }],
    }),
  ),
} satisfies Fields;

// The visible parts of a webhook's credentials. Every secret is write-only.

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
