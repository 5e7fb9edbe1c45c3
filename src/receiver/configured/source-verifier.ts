/** The interface that a stored configuration produces: it decides whether the message of a request is an event. */

import { encodeBase64 } from "../../domain/base64.ts";
import type { SourceProbe } from "../../domain/source-probe.ts";
import { andThen, type MaybePromise, type ReceiverCrypto } from "../crypto/crypto.ts";
import {
  type AcceptedVerification,
  type MessageVerifier,
  queryOf,
  type ReceivedMessage,
  type VerificationTime,
} from "../message/message.ts";
import type { ChallengeName, Preset } from "../presets/presets.ts";
import { firstValue, type ValueSource, valueReader } from "../presets/value-source.ts";
import { discordPing, slackChallenge, zoomUrlValidation } from "../providers/options.ts";
import { messageIdFrom, type Rejected, rejected, utf8 } from "../providers/reading.ts";
import type { Configuration } from "./fields.ts";
import { textIn, textsIn } from "./verifier-kinds.ts";

export type Received =
  /** Send this response; there is nothing to store. */
  | { readonly kind: "challenge"; readonly answer: ChallengeAnswer }
  | {
      readonly kind: "verified";
      readonly verification: AcceptedVerification;
      /** The sender's id of the message, or null. An `Idempotency-Key` header takes precedence. */
      readonly key: { readonly value: string; readonly isVouchedFor: boolean } | null;
      /** Event type in the sender's spelling, such as `customers/create`; null if there is none. */
      readonly eventType: string | null;
    }
  /** Answer 401. `detail` is for the receiver's log and must not be sent to the sender. */
  | Rejected;

export interface SourceVerifier {
  /** `type` of the configuration. */
  readonly type: string;
  /** Includes GET if the provider checks the URL with GET. */
  readonly methods: readonly ("GET" | "POST")[];
  /** Unauthenticated requests with which the provider checks the URL. */
  readonly probes: readonly SourceProbe[];
  /** Headers to forward, in the provider's spelling. */
  readonly forwardHeaders: readonly string[];
  /** Query parameters that carry credentials: neither forwarded nor shown. */
  readonly secretParameters: readonly string[];
  /** The server or proxy that terminates TLS must provide the sender's certificate; otherwise everything is refused. */
  readonly needsClientCertificate: boolean;
  /** True if nothing is verified, or a composition may accept without verification. Show it as a warning. */
  readonly isUnverified: boolean;
  /** The verifier alone, for `createReceiver`. */
  readonly verifier: MessageVerifier;
  /**
   * Whether the sender vouches for the value: it is signed, or came with a secret that authenticates the whole request.
   */
  vouchesFor(source: ValueSource): boolean;
  /** Never throws for input from an attacker. */
  receive(message: ReceivedMessage, now: VerificationTime): MaybePromise<Received>;
}

interface SingleSource {
  readonly type: string;
  readonly given: Configuration;
  readonly verifier: MessageVerifier;
  readonly preset: Preset | null;
  readonly covers: "request" | readonly string[];
}

export function singleSource(crypto: ReceiverCrypto, single: SingleSource): SourceVerifier {
  const { type, given, verifier, preset, covers } = single;
  const name = preset?.challenge ?? null;
  const keys: ChallengeKeys = {
    secrets: textsIn(given, "secrets"),
    verifyToken: textIn(given, "verify_token") ?? "",
  };
  const vouchesFor = (source: ValueSource): boolean => isCovered(source, covers);
  const accepted = (message: ReceivedMessage, verification: AcceptedVerification): Received => ({
    kind: "verified",
    verification,
    ...valuesOf(message, verification, preset, vouchesFor),
  });
  return {
    type,
    methods: name !== null && isAskedByGet(name) ? ["GET", "POST"] : ["POST"],
    probes: preset?.probes ?? [],
    forwardHeaders: preset?.forwardHeaders ?? [],
    secretParameters: secretParametersOf(type, given),
    needsClientCertificate: type === "client_certificate",
    isUnverified: type === "none",
    verifier,
    vouchesFor,
    receive(message, now) {
      if (message.method === "GET") {
        if (name === null || !isAskedByGet(name))
          return rejected("missing_header", "this source does not answer GET requests");
        return andThen(
          answerGet(crypto, name, message, keys),
          (answer): Received => ("kind" in answer ? answer : { kind: "challenge", answer }),
        );
      }
      return andThen(verifier.verify(message, now), (verification): MaybePromise<Received> => {
        if (verification.kind === "rejected") return verification;
        if (name === null) return accepted(message, verification);
        return andThen(answerPost(crypto, name, message, keys), (answer) =>
          answer === null ? accepted(message, verification) : { kind: "challenge", answer },
        );
      });
    },
  };
}

function secretParametersOf(type: string, given: Configuration): readonly string[] {
  if (type === "bearer") return ["access_token"];
  if (type === "mailchimp") return ["secret"];
  const name = type === "api_key" ? textIn(given, "query") : undefined;
  return name === undefined ? [] : [name];
}

function valuesOf(
  message: ReceivedMessage,
  verification: AcceptedVerification,
  preset: Preset | null,
  vouchesFor: (source: ValueSource) => boolean,
): Pick<Extract<Received, { readonly kind: "verified" }>, "key" | "eventType"> {
  const read = valueReader(message);
  const { messageId } = verification;
  const found = messageId === null ? firstValue(read, preset?.key ?? []) : null;
  const value = messageIdFrom(messageId ?? found?.value);
  const isVouchedFor = found === null || vouchesFor(found.source);
  return {
    key: value === null ? null : { value, isVouchedFor },
    eventType: firstValue(read, preset?.eventType ?? [])?.value ?? null,
  };
}

function isCovered(source: ValueSource, covers: "request" | readonly string[]): boolean {
  if (covers === "request" || "fixed" in source || "pointer" in source) return true;
  if ("header" in source) return covers.includes(source.header.toLowerCase());
  return covers.includes("@target-uri") || covers.includes("@query");
}

/** Answers the challenges with which providers check a URL. They are not events, so they are not stored. */

export interface ChallengeAnswer {
  readonly status: 200 | 204;
  /** Null if the response has no body. */
  readonly contentType: string | null;
  readonly body: string;
}

export interface ChallengeKeys {
  /** The first secret is the one that the provider currently uses. */
  readonly secrets: readonly string[];
  /** Meta must send this token; empty if it is not set. */
  readonly verifyToken: string;
}

/** Excludes characters that a browser could interpret as a page. */
const metaChallenge = /^[\w.~+/=-]{1,512}$/;
/**
 * Anyone can request this response, which is a signature with the key that also signs messages. The accepted tokens
 * must therefore not be valid message bodies; a body begins with a brace.
 */
const crcToken = /^[\w.~+/=-]{1,256}$/;

/** Whether the provider's challenge is a GET request, which arrives before anything is verified. */
function isAskedByGet(name: ChallengeName): boolean {
  return name === "meta" || name === "x";
}

/** Answers a GET request. Every valid GET request is a challenge. */
function answerGet(
  crypto: ReceiverCrypto,
  name: ChallengeName,
  message: ReceivedMessage,
  keys: ChallengeKeys,
): MaybePromise<ChallengeAnswer | Rejected> {
  const query = queryOf(message.url);
  return name === "meta" ? answerMeta(crypto, query, keys) : answerX(crypto, query, keys);
}

function answerMeta(
  crypto: ReceiverCrypto,
  query: URLSearchParams,
  keys: ChallengeKeys,
): ChallengeAnswer | Rejected {
  const challenge = query.get("hub.challenge") ?? "";
  if (query.get("hub.mode") !== "subscribe" || !metaChallenge.test(challenge))
    return rejected("missing_header", "the GET request is not a hub.challenge");
  const isKnown =
    keys.verifyToken !== "" &&
    crypto.equal(utf8(query.get("hub.verify_token") ?? ""), utf8(keys.verifyToken));
  if (!isKnown) return rejected("bad_token", "hub.verify_token does not match this source");
  return { status: 200, contentType: "text/plain; charset=utf-8", body: challenge };
}

function answerX(
  crypto: ReceiverCrypto,
  query: URLSearchParams,
  keys: ChallengeKeys,
): MaybePromise<ChallengeAnswer | Rejected> {
  const token = query.get("crc_token") ?? "";
  const [secret] = keys.secrets;
  if (secret === undefined || !crcToken.test(token))
    return rejected("missing_header", "the GET request is not a crc_token challenge");
  return andThen(crypto.hmac("sha256", utf8(secret), [utf8(token)]), (mac) =>
    json(JSON.stringify({ response_token: `sha256=${encodeBase64(mac)}` })),
  );
}

/** Answers a challenge in a verified message; returns null if the message is not a challenge. */
function answerPost(
  crypto: ReceiverCrypto,
  name: ChallengeName,
  message: ReceivedMessage,
  keys: ChallengeKeys,
): MaybePromise<ChallengeAnswer | null> {
  const { body } = message;
  if (name === "slack") {
    const text = slackChallenge(body);
    return text === null ? null : { status: 200, contentType: "text/plain; charset=utf-8", body: text };
  }
  if (name === "discord") {
    const ping = discordPing(body);
    if (ping === null) return null;
    return ping.status === 204 ? { status: 204, contentType: null, body: "" } : json(ping.json);
  }
  if (name !== "zoom") return null;
  const validation = zoomUrlValidation(crypto, keys.secrets[0] ?? "", body);
  return andThen(validation, (text) => (text === null ? null : json(text)));
}

function json(body: string): ChallengeAnswer {
  return { status: 200, contentType: "application/json", body };
}
