import type { ClientCertificateSeen } from "../../domain/http/client-certificate.ts";
import { ReceiverError } from "../receiver-error.ts";

/**
 * A received request in the form that every part of the kit uses. Framework adapters create it; it does not depend on a
 * framework, on Node or on the Fetch API.
 */
export interface ReceivedMessage {
  /** Upper case, such as `POST`. */
  readonly method: string;
  /** Path and query as received (`/hooks?x=1`), or an absolute URL. */
  readonly url: string;
  readonly headers: MessageHeaders;
  /** The raw bytes received, before any decoding or parsing. */
  readonly body: Uint8Array;
  /**
   * The client certificate of mutual TLS, from a trusted component that terminated the connection; never from a header
   * that senders can set.
   */
  readonly clientCertificate?: ClientCertificateSeen | null;
}

/**
 * Header fields, looked up by case-insensitive name. Several fields with the same name are joined with `, ` (RFC 9110,
 * section 5.2).
 */
export interface MessageHeaders {
  /** Null if the field is absent. */
  get(name: string): string | null;
}

/** Why a message was not accepted. The codes are stable; they are used in logs and problem details. */
export const rejectionCauses = [
  "missing_header",
  "malformed_header",
  "bad_message_id",
  "bad_timestamp",
  "too_old",
  "too_new",
  "unknown_key",
  "wrong_key_kind",
  "body_altered",
  "no_matching_signature",
  "bad_token",
] as const;
export type RejectionCause = (typeof rejectionCauses)[number];

/** The result of verifying a message. `detail` is one sentence for the receiver's log; it never contains a secret. */
export type Verification =
  | {
      readonly kind: "verified";
      /** `v1`, `v1a`, `x-webhook-v1`, `rfc9421-ed25519`, `rfc9421-hmac-sha256`, `bearer`, `stripe`, `github`, … */
      readonly scheme: string;
      /** The authenticated sender: the name under which the key or token was configured. */
      readonly producer: string;
      /** `Webhook-ID` or the provider's message id; null if the scheme does not sign an id. */
      readonly messageId: string | null;
      /** Signed timestamp in Unix seconds; null if the scheme does not sign one. */
      readonly timestampSeconds: number | null;
      /**
       * For schemes that sign a timestamp, if a message has no signed id: a value that a replayed message cannot
       * change, such as a digest of all signed content. Two messages with the same value are the same message,
       * regardless of their headers.
       */
      readonly replayId?: string | undefined;
      /**
       * Whether the sender vouches for the `Idempotency-Key` header: it is signed, or came with a token that
       * authenticates the whole request. If not, the header is ignored, because a captured message could be replayed
       * under a different key.
       */
      readonly isKeyAuthentic?: boolean | undefined;
    }
  | { readonly kind: "rejected"; readonly cause: RejectionCause; readonly detail: string };

/** Decides whether a message is authentic. Never throws for input from an attacker. */
export interface MessageVerifier {
  verify(message: ReceivedMessage, now: VerificationTime): Verification | Promise<Verification>;
}

/** The time at which a message is verified. */
export interface VerificationTime {
  readonly nowSeconds: number;
}

/**
 * Header fields that can also be listed, so that the inbox can store them. Every adapter of the kit provides these, and
 * `Headers` of the Fetch API are compatible.
 */
export interface ListedHeaders extends MessageHeaders, Iterable<readonly [name: string, value: string]> {}

/** Fields with their received values; equal names are joined with `, ` (RFC 9110, section 5.2). */
export function receivedHeaders(
  fields: Iterable<readonly [name: string, value: string | readonly string[] | undefined]>,
): ListedHeaders {
  const values = new Map<string, string>();
  for (const [name, value] of fields) {
    if (value === undefined) continue;
    const text = typeof value === "string" ? value : value.join(", ");
    const key = name.toLowerCase();
    const before = values.get(key);
    values.set(key, before === undefined ? text : `${before}, ${text}`);
  }
  return {
    get: (name) => values.get(name.toLowerCase()) ?? null,
    [Symbol.iterator]: () => values.entries(),
  };
}

/** All fields that can be listed; empty if the application passed headers that cannot be listed. */
export function listHeaders(headers: MessageHeaders): Iterable<readonly [name: string, value: string]> {
  return Symbol.iterator in headers ? (headers as ListedHeaders) : [];
}

/** An authentic message as handlers get it, immediately or from the inbox. */
export interface VerifiedMessage<Transaction = undefined> {
  readonly message: ReceivedMessage;
  /** Scheme by which the message was verified, such as `v1a` or `github`. */
  readonly scheme: string;
  /** The sender: the name under which the key or token was configured. */
  readonly producer: string;
  /** The sender's id of the message, if the scheme signs one. */
  readonly messageId: string | null;
  /** Signed timestamp in Unix seconds. */
  readonly timestampSeconds: number | null;
  /** The key shared by repeated messages; null without a key or without deduplication. */
  readonly key: string | null;
  /** In Unix milliseconds. */
  readonly receivedAt: number;
  /** Always 1 without an inbox; in the inbox, the number of times that a handler was started for the message. */
  readonly attempt: number;
  /** Aborted when the handler's time limit is exceeded. Later results are not sent. */
  readonly signal: AbortSignal;
  /** The open transaction if the receiver runs handlers in a transaction, otherwise undefined. */
  readonly transaction: Transaction;
  /** The body as UTF-8. Throws ReceiverError `invalid_message` if it is not valid UTF-8. */
  text(): string;
  /** The body as JSON. Throws ReceiverError `invalid_message` if it is not valid JSON; the response is then 400. */
  json(): unknown;
}

export type AcceptedVerification = Extract<Verification, { readonly kind: "verified" }>;

/** The storable data of a {@link VerifiedMessage}, from which it can be recreated. */
export type MessageFacts = Omit<VerifiedMessage, "text" | "json" | "signal" | "transaction">;

/** Creates the message that a handler gets, by adding functions and context to the stored data. */
export function verifiedMessage<Transaction>(
  facts: MessageFacts,
  signal: AbortSignal,
  transaction: Transaction,
): VerifiedMessage<Transaction> {
  const text = (): string => decodeUtf8(facts.message.body);
  return { ...facts, signal, transaction, text, json: () => parseJson(text()) };
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new ReceiverError("invalid_message", "The body is not valid UTF-8.", { cause });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ReceiverError("invalid_message", "The body is not valid JSON.", { cause });
  }
}

/**
 * The path of a received URL, without authority, query and fragment. It is extracted without parsing, because input
 * from an attacker must neither cause an exception nor be normalised to the path of a different endpoint.
 */
export function pathOf(url: string): string {
  const path = withoutAuthority(url).replace(/[?#].*$/s, "");
  return path === "" ? "/" : path;
}

/**
 * The canonical path of an endpoint. Routers accept `/Hooks/`, `//hooks` and `/hook%73` for `/hooks`, and most
 * signature schemes do not cover the path. Without this, a captured message could be replayed once per spelling.
 */
export function canonicalPathOf(url: string): string {
  const segments: string[] = [];
  for (const raw of pathOf(url).split("/")) {
    const segment = decoded(raw).toLowerCase();
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(encodeURIComponent(segment.toWellFormed()));
  }
  return `/${segments.join("/")}`;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Whether the URL carries a bearer token (RFC 6750, section 2.3). */
export function hasTokenInQuery(url: string): boolean {
  return queryOf(url).has("access_token");
}

/** The URL without its bearer token, for storage and logs. */
export function withoutToken(url: string): string {
  if (!hasTokenInQuery(url)) return url;
  const query = queryOf(url);
  query.delete("access_token");
  return query.size === 0 ? pathOf(url) : `${pathOf(url)}?${query.toString()}`;
}

/** The parameters of the query; empty without a query. */
export function queryOf(url: string): URLSearchParams {
  return new URLSearchParams(/^[^?#]*\?([^#]*)/.exec(url)?.[1] ?? "");
}

function withoutAuthority(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "");
}
