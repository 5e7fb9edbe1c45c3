import { decodeBase64 } from "../../domain/base64.ts";
import type { ClientCertificateSeen } from "../../domain/http/client-certificate.ts";
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import { type MessageVerifier, type ReceivedMessage, queryOf } from "../message/message.ts";
import { keyTexts } from "../providers/options.ts";
import { headerOf, isRejected, rejected, type Rejected, utf8 } from "../providers/reading.ts";
import { type ByProducer, readByProducer } from "./first-match.ts";
import { misconfigured } from "../receiver-error.ts";

/** A secret that senders send unchanged. */
interface KnownToken {
  readonly producer: string;
  readonly value: Uint8Array;
}

/**
 * The producer of the given token, or null. All tokens are compared, so that the duration does not reveal partial
 * matches.
 */
function producerOf(crypto: ReceiverCrypto, known: readonly KnownToken[], given: Uint8Array): string | null {
  let producer: string | null = null;
  for (const { producer: name, value } of known) {
    if (crypto.equal(given, value)) producer ??= name;
  }
  return producer;
}

// A secret in a header or in the query. It authenticates the sender, but does not protect against alteration.

/** Set either `header` or `query`. */
export interface ApiKeyOptions {
  /** Name of the header field, such as `X-Api-Key`. */
  readonly header?: string | undefined;
  /** Name of the query parameter. URLs appear in logs, so prefer a header. */
  readonly query?: string | undefined;
  /** Text before the key in the header, such as `Token `. */
  readonly prefix?: string | undefined;
  readonly keys: ByProducer;
}

const keyLengthMax = 4_096;
export const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;

/** A key contains neither a message id nor a time. Throws ReceiverError `misconfigured` for invalid options. */
export function prepareApiKeyVerifier(
  crypto: ReceiverCrypto,
  options: ApiKeyOptions,
  scheme = "api-key",
): MessageVerifier {
  const { header, query } = options;
  if ((header === undefined) === (query === undefined)) throw misconfigured("set either header or query");
  if (header !== undefined && !headerName.test(header))
    throw misconfigured("header must be the name of a header field");
  if (query === "") throw misconfigured("query must be the name of a query parameter");
  const known = readByProducer(options.keys, "keys", utf8);
  return {
    verify(message) {
      const given = keyOf(message, options);
      if (isRejected(given)) return given;
      const producer = producerOf(crypto, known, utf8(given));
      if (producer === null) return rejected("bad_token", "unknown key");
      const verified = { kind: "verified", scheme, producer, messageId: null } as const;
      return { ...verified, timestampSeconds: null, isKeyAuthentic: true };
    },
  };
}

function keyOf(message: ReceivedMessage, { header, query, prefix = "" }: ApiKeyOptions): string | Rejected {
  if (header !== undefined) {
    const value = headerOf(message, header);
    if (isRejected(value) || value.startsWith(prefix)) {
      return isRejected(value) ? value : value.slice(prefix.length);
    }
    return rejected("malformed_header", `${header} does not begin with ${prefix}`);
  }
  const [first, ...others] = queryOf(message.url).getAll(query ?? "");
  if (first === undefined || first === "") return rejected("missing_header", "the query has no key");
  if (others.length > 0) return rejected("malformed_header", "the query has several keys");
  if (first.length > keyLengthMax) return rejected("malformed_header", "the key in the query is too long");
  return first;
}

// Name and password in `Authorization` (RFC 7617). They authenticate the sender, but do not protect against alteration.

export interface BasicOptions {
  /** The name becomes `producer` of verified messages. It must not contain a colon. */
  readonly username: string;
  /** One password, or several during a rotation. */
  readonly passwords: string | readonly string[];
}

/** The credentials contain neither a message id nor a time. Throws ReceiverError `misconfigured`. */
export function prepareBasicVerifier(
  crypto: ReceiverCrypto,
  { username, passwords }: BasicOptions,
): MessageVerifier {
  if (typeof username !== "string" || !/^[^:\p{Cc}]{1,255}$/u.test(username))
    throw misconfigured("username must be 1 to 255 characters without a colon");
  const known = keyTexts(passwords, "passwords").map((password) => ({
    producer: username,
    value: utf8(`${username}:${password}`),
  }));
  return {
    verify(message) {
      const header = headerOf(message, "Authorization");
      if (isRejected(header)) return header;
      const [, encoded = ""] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header) ?? [];
      const given = encoded === "" ? null : decodeBase64(encoded);
      if (given === null) return rejected("malformed_header", "Authorization is not Basic credentials");
      const producer = producerOf(crypto, known, given);
      if (producer === null) return rejected("bad_token", "unknown name or password");
      const verified = { kind: "verified", scheme: "basic", producer, messageId: null } as const;
      return { ...verified, timestampSeconds: null, isKeyAuthentic: true };
    },
  };
}

// Bearer tokens (RFC 6750). They authenticate the sender, but do not protect against alteration.

/** A token has 1 to 1,024 visible ASCII characters. */
export interface BearerOptions {
  readonly tokens: ByProducer;
  /**
   * If true, also accepts `?access_token=…`, for senders that cannot set a header. URLs appear in logs, so the default
   * is false.
   */
  readonly allowQueryParameter?: boolean | undefined;
}

const tokenLengthMax = 4096;

/** A token contains neither a message id nor a time. Throws ReceiverError `misconfigured` for invalid tokens. */
export function prepareBearerVerifier(crypto: ReceiverCrypto, options: BearerOptions): MessageVerifier {
  const known = readByProducer(options.tokens, "tokens", tokenBytes);
  return {
    verify(message) {
      const token = tokenOf(message, options);
      if (isRejected(token)) return token;
      const producer = producerOf(crypto, known, utf8(token));
      if (producer === null) return rejected("bad_token", "unknown bearer token");
      const verified = { kind: "verified", scheme: "bearer", producer, messageId: null } as const;
      return { ...verified, timestampSeconds: null, isKeyAuthentic: true };
    },
  };
}

function tokenBytes(text: string): Uint8Array {
  if (!/^[\x21-\x7e]+$/.test(text)) throw misconfigured("a bearer token must be visible ASCII");
  return utf8(text);
}

function tokenOf(message: ReceivedMessage, options: BearerOptions): string | Rejected {
  const inHeader = message.headers.get("authorization")?.trim() ?? "";
  const inQuery = queryOf(message.url).getAll("access_token");
  if (inHeader.length > tokenLengthMax) return rejected("malformed_header", "Authorization is too long");
  if (inHeader !== "") {
    // RFC 6750, section 2: one method per message. With two tokens it would be ambiguous which one is used.
    if (inQuery.length > 0)
      return rejected("malformed_header", "there are tokens in both Authorization and the query");
    const [, token] = /^bearer +([\x21-\x7e]+)$/i.exec(inHeader) ?? [];
    return token ?? rejected("malformed_header", "Authorization is not a Bearer token");
  }
  const [first, ...others] = inQuery;
  if (first === undefined) return rejected("missing_header", "Authorization is missing");
  if (options.allowQueryParameter !== true) {
    return rejected(
      "missing_header",
      "Authorization is missing, and access_token in the query is not allowed",
    );
  }
  if (others.length > 0)
    return rejected("malformed_header", "access_token appears several times in the query");
  return first;
}

// Mutual TLS: the component that terminated the connection reports the sender's verified certificate.

/**
 * A message without a certificate is refused, so a missing proxy does not open the endpoint. Throws `misconfigured`.
 */
export function prepareClientCertificateVerifier(
  crypto: ReceiverCrypto,
  /**
   * SHA-256 of the certificate (DER) or of its public key (SubjectPublicKeyInfo, DER), in hexadecimal; colons are
   * allowed. The fingerprint of the public key stays the same if the certificate is renewed with the same key.
   */ fingerprints: ByProducer,
): MessageVerifier {
  const known = readByProducer(fingerprints, "fingerprints", fingerprintBytes);
  return {
    verify(message, { nowSeconds }) {
      const seen = message.clientCertificate ?? null;
      if (seen === null) return rejected("missing_header", "no trusted proxy provided a client certificate");
      const outdated = outdatedAt(seen, nowSeconds);
      if (outdated !== null) return outdated;
      const { certificateSha256, publicKeySha256 } = seen;
      const producers = [certificateSha256, publicKeySha256].map((given) =>
        given === null ? null : producerOf(crypto, known, utf8(given)),
      );
      const producer = producers.find((name) => name !== null);
      if (producer === undefined || producer === null)
        return rejected("bad_token", "unknown client certificate");
      const verified = { kind: "verified", scheme: "client-certificate", producer, messageId: null } as const;
      return { ...verified, timestampSeconds: null, isKeyAuthentic: true };
    },
  };
}

function outdatedAt({ validSeconds }: ClientCertificateSeen, nowSeconds: number): Rejected | null {
  if (validSeconds === null) return null;
  if (nowSeconds > validSeconds.to) return rejected("too_old", "the client certificate has expired");
  if (nowSeconds < validSeconds.from) return rejected("too_new", "the client certificate is not valid yet");
  return null;
}

function fingerprintBytes(text: string): Uint8Array {
  const hex = text.replaceAll(":", "").toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(hex)) throw misconfigured("fingerprints must be SHA-256 in hexadecimal");
  return utf8(hex);
}
