/** Any scheme with an HMAC signature in a header, for senders without a dedicated verifier. */
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier } from "../message/message.ts";
import { keyTexts, type SecretOptions, type ToleranceOptions } from "../providers/options.ts";
import { base64Key, hexKey } from "../providers/provider-keys.ts";
import { type TimestampForm, utf8 } from "../providers/reading.ts";
import { createSchemeVerifier, type ProviderScheme } from "../providers/scheme-verifier.ts";
import { headerName } from "./plain-credentials.ts";
import { misconfigured } from "../receiver-error.ts";

export interface HmacOptions extends SecretOptions, ToleranceOptions {
  /** The header with the signature. */
  readonly header: string;
  /** Precedes the signature, such as `sha256=`. */
  readonly prefix?: string | undefined;
  /** Separates the entries of a header that contains several, such as `,` in `t=1,v1=ab`. */
  readonly separator?: string | undefined;
  readonly hash?: "sha1" | "sha256" | "sha512" | undefined;
  readonly encoding?: "hex" | "base64" | undefined;
  /**
   * The signed content; defaults to `{body}`. Placeholders are `{body}`, `{timestamp}`, `{id}`, `{method}` and `{url}`,
   * which is `publicUrl`.
   */
  readonly signed?: string | undefined;
  /** The header with the signed timestamp. */
  readonly timestampHeader?: string | undefined;
  /** Precedes the signed timestamp if it is an entry of `header`, such as `t=`. */
  readonly timestampPrefix?: string | undefined;
  readonly timestampForm?: TimestampForm | undefined;
  /** The header with a signed message id. Requires `{id}` in `signed`. */
  readonly idHeader?: string | undefined;
  /** Encoding of the secrets: the key itself as text (default), or its bytes in hexadecimal or base64. */
  readonly keyEncoding?: "text" | "hex" | "base64" | undefined;
  /** The URL as the sender uses it, for `{url}`. */
  readonly publicUrl?: string | undefined;
}

const signatureBytes = { sha1: 20, sha256: 32, sha512: 64 } as const;
const algorithms = { sha1: "HMAC-SHA1", sha256: "HMAC-SHA256", sha512: "HMAC-SHA512" } as const;
const placeholders = ["body", "timestamp", "id", "method", "url"];

/** Throws ReceiverError `misconfigured` for options that cannot work, or that would leave the body unsigned. */
export function prepareHmacVerifier(crypto: ReceiverCrypto, options: HmacOptions): MessageVerifier {
  const { producer = "default", secrets, toleranceSeconds, publicUrl } = options;
  const scheme = { name: "hmac", ...schemeOf(options) };
  return createSchemeVerifier(crypto, scheme, {
    producer,
    secrets: keyTexts(secrets, "secrets"),
    toleranceSeconds,
    publicUrl,
  });
}

function schemeOf(options: HmacOptions): ProviderScheme {
  const { header, hash = "sha256", encoding = "hex", keyEncoding = "text" } = options;
  const { prefix, separator, timestampHeader, timestampPrefix, timestampForm, idHeader } = options;
  for (const name of [header, timestampHeader, idHeader])
    if (name !== undefined && !headerName.test(name))
      throw misconfigured(`${name} must be the name of a header`);
  if (timestampHeader !== undefined && timestampPrefix !== undefined)
    throw misconfigured(
      "the time must be either in a separate header or in the signature's header, not in both",
    );
  if (timestampPrefix !== undefined && separator === undefined)
    throw misconfigured("timestampPrefix needs the separator between the entries of the header");
  const signed = signedTemplate(options);
  return {
    algorithm: algorithms[hash],
    headers: {
      ...(idHeader !== undefined && { id: idHeader }),
      signature: header,
      ...(timestampHeader !== undefined && { timestamp: timestampHeader }),
    },
    signature: {
      encoding,
      bytes: signatureBytes[hash],
      prefix: separator === undefined ? prefix : (prefix ?? ""),
      separator,
      timestampPrefix,
    },
    signed,
    timestampForm,
    keys: { option: "secrets", keyOf: keyReaders[keyEncoding] },
    signedId: idHeader === undefined ? undefined : "header",
  };
}

/**
 * Every value that is read must be signed, and every placeholder must be read. Otherwise the scheme would only appear
 * secure.
 */
function signedTemplate(options: HmacOptions): ProviderScheme["signed"] {
  const { signed = "{body}", timestampHeader, timestampPrefix, idHeader } = options;
  const names = [...signed.matchAll(/\{([^}]*)\}/g)].map(([, name = ""]) => name);
  for (const name of names)
    if (!placeholders.includes(name))
      throw misconfigured(`signed: {${name}} is not one of {${placeholders.join("}, {")}}`);
  if (!names.includes("body")) throw misconfigured("signed must contain {body}");
  const isTimed = timestampHeader !== undefined || timestampPrefix !== undefined;
  if (isTimed !== names.includes("timestamp"))
    throw misconfigured(
      "signed must contain {timestamp} if and only if timestampHeader or timestampPrefix is set",
    );
  if ((idHeader !== undefined) !== names.includes("id"))
    throw misconfigured("signed must contain {id} if and only if idHeader is set");
  return signed.replaceAll("{url}", "{notification URL}") as ProviderScheme["signed"];
}

const keyReaders = { text: utf8, hex: hexKey, base64: base64Key } as const;
