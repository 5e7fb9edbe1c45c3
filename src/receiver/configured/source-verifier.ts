/** The interface that a stored configuration produces: it decides whether the message of a request is an event. */
import type { SourceProbe } from "../../domain/source-probe.ts";
import { andThen, type MaybePromise, type ReceiverCrypto } from "../crypto/crypto.ts";
import type { AcceptedVerification, MessageVerifier, ReceivedMessage } from "../message/message.ts";
import type { Preset } from "../presets/presets.ts";
import { firstValue, valueReader, type ValueSource } from "../presets/value-source.ts";
import { messageIdFrom, rejected, type Rejected } from "../providers/reading.ts";
import {
  answerGet,
  answerPost,
  type ChallengeAnswer,
  type ChallengeKeys,
  isAskedByGet,
} from "./challenges.ts";
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
      /** In the sender's spelling, such as `customers/create`; null if there is none. */
      readonly eventType: string | null;
    }
  /** Answer 401. `detail` is for the receiver's log and must not be sent to the sender. */
  | Rejected;

export interface SourceVerifier {
  /** `type` of the configuration. */
  readonly type: string;
  /** Includes GET if the provider checks the address by GET. */
  readonly methods: readonly ("GET" | "POST")[];
  /** Unauthenticated address checks of the provider. */
  readonly probes: readonly SourceProbe[];
  /** Headers worth forwarding, in the provider's spelling. */
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
  receive(message: ReceivedMessage, now: { readonly nowSeconds: number }): MaybePromise<Received>;
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
