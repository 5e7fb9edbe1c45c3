/** Values of `type` other than the providers and the compositions, with their fields and verifiers. */
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier } from "../message/message.ts";
import { prepareHmacVerifier } from "../schemes/hmac.ts";
import { prepareHttpSignaturesVerifier } from "../schemes/http-signatures.ts";
import {
  prepareApiKeyVerifier,
  prepareBasicVerifier,
  prepareBearerVerifier,
  prepareClientCertificateVerifier,
} from "../schemes/plain-credentials.ts";
import { prepareStandardWebhooksVerifier } from "../schemes/standard-webhooks.ts";
import { prepareXWebhookVerifier } from "../schemes/x-webhook.ts";
import type { Configuration, ConfigurationField, Fields } from "./fields.ts";

export interface VerifierKind {
  readonly title: string;
  readonly fields: Fields;
  /** Expects a configuration with valid fields. Throws ReceiverError `misconfigured` for any other problem. */
  build(crypto: ReceiverCrypto, configuration: Configuration): MessageVerifier;
  /**
   * `request` if the sender vouches for the whole request, otherwise the headers that are signed in addition to the
   * body.
   */
  covers(configuration: Configuration): "request" | readonly string[];
}

type FieldOptions = Partial<Pick<ConfigurationField, "isRequired" | "isSecret">>;

export const text = (description: string, options: FieldOptions = {}): ConfigurationField => ({
  kind: "text",
  isRequired: false,
  isSecret: false,
  description,
  ...options,
});

export const secretTexts = (description: string): ConfigurationField => ({
  kind: "texts",
  isRequired: true,
  isSecret: true,
  description,
});

export const tolerance: ConfigurationField = {
  kind: "number",
  isRequired: false,
  isSecret: false,
  description:
    "How far the signed time may differ from the current time in either direction, in seconds; defaults to 300.",
};

const choice = (choices: readonly string[], description: string): ConfigurationField => ({
  kind: "choice",
  isRequired: false,
  isSecret: false,
  choices,
  description,
});

export const textIn = (configuration: Configuration, name: string): string | undefined =>
  configuration[name] as string | undefined;

export const textsIn = (configuration: Configuration, name: string): readonly string[] => {
  const value = configuration[name] as string | readonly string[] | undefined;
  if (value === undefined) return [];
  return typeof value === "string" ? [value] : value;
};

export const toleranceIn = (configuration: Configuration): { readonly toleranceSeconds?: number } =>
  configuration["tolerance_seconds"] === undefined
    ? {}
    : { toleranceSeconds: configuration["tolerance_seconds"] as number };

const requestCovered = () => "request" as const;

export const verifierKinds: Readonly<Record<string, VerifierKind>> = {
  standard_webhooks: {
    title: "Standard Webhooks",
    fields: {
      secrets: secretTexts("The sender's secret (whsec_…) or public key (whpk_…); two during a rotation."),
      tolerance_seconds: tolerance,
    },
    build: (crypto, given) =>
      prepareStandardWebhooksVerifier(crypto, { keys: textsIn(given, "secrets"), ...toleranceIn(given) }),
    covers: () => ["webhook-id", "webhook-timestamp"],
  },
  x_webhook: {
    title: "X-Webhook-Signature",
    fields: {
      secrets: secretTexts("The sender's secret; two during a rotation."),
      tolerance_seconds: tolerance,
    },
    build: (crypto, given) =>
      prepareXWebhookVerifier(crypto, { secrets: textsIn(given, "secrets"), ...toleranceIn(given) }),
    covers: () => [],
  },
  http_signatures: {
    title: "HTTP Message Signatures (RFC 9421)",
    fields: {
      secrets: secretTexts(
        "The sender's public key (whpk_…), or a shared secret (whsec_…), which needs key_id.",
      ),
      key_id: text("keyid of the signatures; defaults to the thumbprint for a public key."),
      public_origin: text(
        "Scheme and host of the address as senders use it, such as https://in.example.com.",
        {
          isRequired: true,
        },
      ),
      components: {
        kind: "texts",
        isRequired: false,
        isSecret: false,
        description: "Components that a signature must cover; content-digest is always required.",
      },
      tag: text("Ignore signatures without this tag."),
      tolerance_seconds: tolerance,
    },
    build: buildHttpSignatures,
    covers: (given) =>
      given["components"] === undefined
        ? ["content-type", "idempotency-key", "@target-uri"]
        : textsIn(given, "components").map((name) => name.toLowerCase()),
  },
  hmac: {
    title: "HMAC in a header",
    fields: {
      secrets: secretTexts("The shared secret; two during a rotation."),
      header: text("The header with the signature.", { isRequired: true }),
      prefix: text("Text before the signature, such as sha256=."),
      separator: text("Separator between the entries of a header that has several, such as a comma."),
      hash: choice(["sha1", "sha256", "sha512"], "Hash algorithm; defaults to sha256."),
      encoding: choice(["hex", "base64"], "Encoding of the signature; defaults to hex."),
      key_encoding: choice(
        ["text", "hex", "base64"],
        "Encoding of the secret; the default is text, which uses the key unchanged.",
      ),
      signed: text(
        "The signed content; defaults to {body}. May contain {timestamp}, {id}, {method} and {url}.",
      ),
      timestamp_header: text("The header with the signed time."),
      timestamp_prefix: text("Text before the time if it is an entry of the signature's header."),
      timestamp_form: choice(
        ["seconds", "milliseconds", "iso8601"],
        "Format of the time; defaults to seconds.",
      ),
      id_header: text("The header with a signed message id."),
      public_url: text("The address as entered at the sender, for {url}."),
      tolerance_seconds: tolerance,
    },
    build: buildHmac,
    covers: (given) =>
      [textIn(given, "timestamp_header"), textIn(given, "id_header")].flatMap(
        (name) => name?.toLowerCase() ?? [],
      ),
  },
  basic: {
    title: "Name and password (Basic)",
    fields: {
      username: text("The user name, without a colon.", { isRequired: true }),
      secrets: secretTexts("The password; two during a rotation."),
    },
    build: (crypto, given) =>
      prepareBasicVerifier(crypto, {
        username: textIn(given, "username") ?? "",
        passwords: textsIn(given, "secrets"),
      }),
    covers: requestCovered,
  },
  api_key: {
    title: "API key in a header or in the query",
    fields: {
      header: text("The header with the key; set either this or query."),
      query: text("The query parameter with the key. Addresses appear in logs, so prefer a header."),
      prefix: text("Text before the key in the header."),
      secrets: secretTexts("The key; two during a rotation."),
    },
    build: (crypto, given) =>
      prepareApiKeyVerifier(crypto, {
        header: textIn(given, "header"),
        query: textIn(given, "query"),
        prefix: textIn(given, "prefix"),
        keys: textsIn(given, "secrets"),
      }),
    covers: requestCovered,
  },
  bearer: {
    title: "Bearer token",
    fields: {
      secrets: secretTexts("The token; two during a rotation."),
      access_token_parameter: choice(
        ["refused", "allowed"],
        "Accept the token in the query parameter access_token, too, for senders that cannot set a header. Addresses appear in logs, so this is refused by default.",
      ),
    },
    build: (crypto, given) =>
      prepareBearerVerifier(crypto, {
        tokens: textsIn(given, "secrets"),
        allowQueryParameter: given["access_token_parameter"] === "allowed",
      }),
    covers: requestCovered,
  },
  client_certificate: {
    title: "Client certificate (mutual TLS)",
    fields: {
      fingerprints: {
        kind: "texts",
        isRequired: true,
        isSecret: false,
        description:
          "SHA-256 of the sender's certificate or of its public key, in hexadecimal; two during a renewal. The proxy that terminates TLS provides the certificate.",
      },
    },
    build: (crypto, given) => prepareClientCertificateVerifier(crypto, textsIn(given, "fingerprints")),
    covers: requestCovered,
  },
  none: {
    title: "No verification",
    fields: {},
    build: () => unverified,
    covers: requestCovered,
  },
};

/**
 * Accepts every sender that has the URL. It must be configured explicitly, and `isUnverified` reports it wherever the
 * source is listed.
 */
const unverified: MessageVerifier = {
  verify: () => ({
    kind: "verified",
    scheme: "none",
    producer: "anonymous",
    messageId: null,
    timestampSeconds: null,
    isKeyAuthentic: true,
  }),
};

function buildHttpSignatures(crypto: ReceiverCrypto, given: Configuration): MessageVerifier {
  const components = textsIn(given, "components");
  return prepareHttpSignaturesVerifier(crypto, {
    keys: textsIn(given, "secrets").map((key) => ({ key, keyId: textIn(given, "key_id") })),
    publicOrigin: textIn(given, "public_origin"),
    tag: textIn(given, "tag"),
    ...(components.length > 0 && { requiredComponents: components }),
    ...toleranceIn(given),
  });
}

function buildHmac(crypto: ReceiverCrypto, given: Configuration): MessageVerifier {
  return prepareHmacVerifier(crypto, {
    secrets: textsIn(given, "secrets"),
    header: textIn(given, "header") ?? "",
    prefix: textIn(given, "prefix"),
    separator: textIn(given, "separator"),
    hash: given["hash"] as "sha1" | "sha256" | "sha512" | undefined,
    encoding: given["encoding"] as "hex" | "base64" | undefined,
    keyEncoding: given["key_encoding"] as "text" | "hex" | "base64" | undefined,
    signed: textIn(given, "signed"),
    timestampHeader: textIn(given, "timestamp_header"),
    timestampPrefix: textIn(given, "timestamp_prefix"),
    timestampForm: given["timestamp_form"] as "seconds" | "milliseconds" | "iso8601" | undefined,
    idHeader: textIn(given, "id_header"),
    publicUrl: textIn(given, "public_url"),
    ...toleranceIn(given),
  });
}
