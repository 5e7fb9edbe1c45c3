/**
 * Providers that sign the URL of the webhook and the parameters of a form.
 *
 * Twilio: `X-Twilio-Signature`, HMAC-SHA1 in base64 with the account's auth token, over the URL as Twilio called it
 * and, for forms, all parameters sorted by name, with names and values concatenated. For other bodies, the signed query
 * contains their SHA-256 (`bodySHA256`). No timestamp is signed.
 *
 * Mandrill: `X-Mandrill-Signature`, HMAC-SHA1 in base64 over the URL as entered there and all parameters of the form,
 * sorted and concatenated in the same way. No timestamp is signed.
 *
 * The form must be parsed before anything is verified, because the signature covers its parameters. Parsing is bounded
 * here (bytes, parameters) and uses the platform's parser.
 */
import { andThen, type ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier, ReceivedMessage, Verification } from "../message/message.ts";
import { type Claim, createClaimVerifier, hmacProof } from "./claim-verifier.ts";
import {
  type PublicUrlOptions,
  publicUrlOf,
  type SecretOptions,
  secretBytes,
  type UnsignedIdOptions,
} from "./options.ts";
import {
  base64Bytes,
  headerOf,
  hexBytes,
  isRejected,
  messageIdFrom,
  type Rejected,
  rejected,
  textOf,
  utf8,
} from "./reading.ts";

const signatureBytes = 20;
const digestBytes = 32;
const queryLengthMax = 8_192;
const twilioFormBytesMax = 262_144;
const twilioParametersMax = 1_000;
const mandrillFormBytesMax = 4_194_304;
const mandrillParametersMax = 100;
const bodyDigestStart = "bodySHA256=";

/**
 * `secrets` are the auth tokens. `publicUrl` is the URL entered at Twilio, including its query, so that a signature for
 * a different URL of the account is not valid here. Twilio adds only `bodySHA256` to the query.
 */
export interface TwilioOptions extends SecretOptions, PublicUrlOptions, UnsignedIdOptions {}

/** Twilio does not sign a message id. With `unsignedMessageId`, the id is the value of `I-Twilio-Idempotency-Token`. */
export function createTwilioVerifier(crypto: ReceiverCrypto, options: TwilioOptions): MessageVerifier {
  const [address = "", ...queries] = publicUrlOf(options).split("?");
  const parameters = parametersIn(queries.join("?"));
  const addresses = [...new Set([withPort(address), withoutPort(address)])];
  const signatureVerifier = createClaimVerifier(crypto, {
    name: "twilio",
    producer: options.producer ?? "twilio",
    proof: hmacProof(crypto, "sha1", secretBytes(options.secrets)),
    claimOf: (message) => twilioClaim(message, addresses, parameters),
    isMessageIdUnsigned: true,
    messageIdOf: (message) =>
      options.unsignedMessageId === true
        ? messageIdFrom(message.headers.get("I-Twilio-Idempotency-Token"))
        : null,
  });
  return {
    verify: (message, now) =>
      andThen(signatureVerifier.verify(message, now), (result) =>
        result.kind === "verified" ? withBodyChecked(crypto, message, result) : result,
      ),
  };
}

/** `addresses` have no query; `expected` are the query parameters as written. */
function twilioClaim(
  message: ReceivedMessage,
  addresses: readonly string[],
  expected: readonly string[],
): Claim | Rejected {
  const header = headerOf(message, "X-Twilio-Signature");
  if (isRejected(header)) return header;
  const signature = base64Bytes(header, signatureBytes);
  if (signature === null) return rejected("malformed_header", "X-Twilio-Signature is not 20 bytes in base64");
  const query = rawQueryOf(message);
  if (query.length > queryLengthMax) return rejected("malformed_header", "the query is too long");
  const own = parametersIn(query.slice(1)).filter((parameter) => !parameter.startsWith(bodyDigestStart));
  if (own.join("&") !== expected.join("&"))
    return rejected("no_matching_signature", "the query differs from that of publicUrl");
  const parameters = parametersOf(message);
  if (isRejected(parameters)) return parameters;
  return {
    contents: addresses.map((address) => [utf8(address + query + parameters)]),
    signatures: [signature],
    timestampSeconds: null,
  };
}

function parametersIn(query: string): readonly string[] {
  return query.split("&").filter((parameter) => parameter !== "");
}

/** Includes the question mark; empty if there is none. */
function rawQueryOf({ url }: ReceivedMessage): string {
  const start = url.indexOf("?");
  const end = url.indexOf("#");
  return start < 0 ? "" : url.slice(start, end < start ? undefined : end);
}

/** The signed part of the body: the parameters of a form, or nothing if the query contains the digest. */
function parametersOf(message: ReceivedMessage): string | Rejected {
  if (message.body.length === 0 || bodyDigestOf(message) !== null) return "";
  const mediaType = message.headers.get("Content-Type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== "application/x-www-form-urlencoded")
    return rejected("missing_header", "the body is not a form, and the query has no bodySHA256");
  if (message.body.length > twilioFormBytesMax) return rejected("body_altered", "the form is too large");
  const form = new URLSearchParams(textOf(message.body));
  // No part of such a body would be signed.
  if (form.size === 0) return rejected("body_altered", "the form has no parameters");
  if (form.size > twilioParametersMax) return rejected("body_altered", "the form has too many parameters");
  // Twilio's libraries use each value of a repeated parameter once, and sort by UTF-16 units, like sort().
  return [...new Set(form.keys())]
    .toSorted()
    .flatMap((name) => [...new Set(form.getAll(name))].toSorted().map((value) => name + value))
    .join("");
}

/** Null if the query has no digest. */
function bodyDigestOf(message: ReceivedMessage): string | null {
  const query = rawQueryOf(message);
  if (query.length > queryLengthMax) return null;
  return new URLSearchParams(query).get("bodySHA256");
}

/** The query is authentic at this point; this check ensures that the body matches its digest. */
function withBodyChecked(crypto: ReceiverCrypto, message: ReceivedMessage, result: Verification) {
  const text = bodyDigestOf(message);
  if (text === null) return result;
  const expected = hexBytes(text, digestBytes);
  return andThen(crypto.digest("sha256", message.body), (digest) =>
    expected !== null && crypto.equal(expected, digest)
      ? result
      : rejected("body_altered", "bodySHA256 is not the digest of the body"),
  );
}

/** Twilio signs some URLs with the standard port and some without. No other part of the URL may differ. */
function withPort(url: string): string {
  const [, scheme = "", authority = "", rest = ""] = /^(https?:\/\/)([^/]*)(.*)$/i.exec(url) ?? [];
  if (/:\d+$/.test(authority)) return url;
  return `${scheme}${authority}${scheme.toLowerCase() === "https://" ? ":443" : ":80"}${rest}`;
}

function withoutPort(url: string): string {
  return url.replace(/^(https?:\/\/[^/]*?):\d+(?=\/|$)/i, "$1");
}

/** `secrets` are the keys of the webhook; `publicUrl` is the webhook's URL exactly as entered at Mandrill. */
export interface MandrillOptions extends SecretOptions, PublicUrlOptions {}

export function createMandrillVerifier(crypto: ReceiverCrypto, options: MandrillOptions): MessageVerifier {
  const address = publicUrlOf(options);
  return createClaimVerifier(crypto, {
    name: "mandrill",
    producer: options.producer ?? "mandrill",
    proof: hmacProof(crypto, "sha1", secretBytes(options.secrets)),
    claimOf: (message) => mandrillClaim(message, address),
    isMessageIdUnsigned: true,
    messageIdOf: () => null,
  });
}

function mandrillClaim(message: ReceivedMessage, address: string): Claim | Rejected {
  const header = headerOf(message, "X-Mandrill-Signature");
  if (isRejected(header)) return header;
  const signature = base64Bytes(header, signatureBytes);
  if (signature === null)
    return rejected("malformed_header", "X-Mandrill-Signature is not 20 bytes in base64");
  if (message.body.length > mandrillFormBytesMax) return rejected("body_altered", "the form is too large");
  const form = new URLSearchParams(textOf(message.body));
  if (form.size === 0 || form.size > mandrillParametersMax)
    return rejected("body_altered", `the form does not have 1 to ${mandrillParametersMax} parameters`);
  const names = [...form.keys()];
  if (new Set(names).size < names.length) return rejected("body_altered", "the form repeats a parameter");
  const parameters = names.toSorted().map((name) => name + (form.get(name) ?? ""));
  return {
    contents: [[utf8(address + parameters.join(""))]],
    signatures: [signature],
    timestampSeconds: null,
  };
}
