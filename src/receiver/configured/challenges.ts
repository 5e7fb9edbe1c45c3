/** Answers the challenges with which providers check an address. They are not events, so they are not stored. */
import { encodeBase64 } from "../../domain/base64.ts";
import { andThen, type MaybePromise, type ReceiverCrypto } from "../crypto/crypto.ts";
import { queryOf } from "../message/message-url.ts";
import type { ReceivedMessage } from "../message/message.ts";
import type { ChallengeName } from "../presets/presets.ts";
import { discordPing, slackChallenge, zoomUrlValidation } from "../providers/options.ts";
import { rejected, type Rejected, utf8 } from "../providers/reading.ts";

export interface ChallengeAnswer {
  readonly status: 200 | 204;
  /** Null for a response without a body. */
  readonly contentType: string | null;
  readonly body: string;
}

export interface ChallengeKeys {
  /** The first is the one that the provider currently uses. */
  readonly secrets: readonly string[];
  /** Meta must send this token; empty if it is not set. */
  readonly verifyToken: string;
}

/** Excludes characters that a browser could interpret as a page. */
const metaChallenge = /^[\w.~+/=-]{1,512}$/;
/**
 * The response is a signature with the key that also signs messages, and anyone may request it. No accepted token can
 * be the body of a message, because a body begins with a brace.
 */
const crcToken = /^[\w.~+/=-]{1,256}$/;

/** Whether the provider's challenge is a GET request, which arrives before anything is verified. */
export function isAskedByGet(name: ChallengeName): boolean {
  return name === "meta" || name === "x";
}

/** For GET requests: every valid one is a challenge. */
export function answerGet(
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
  return andThen(crypto.hmac({ hash: "sha256", key: utf8(secret), data: [utf8(token)] }), (mac) =>
    json(JSON.stringify({ response_token: `sha256=${encodeBase64(mac)}` })),
  );
}

/** For verified messages; null if the message is not a challenge. */
export function answerPost(
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
