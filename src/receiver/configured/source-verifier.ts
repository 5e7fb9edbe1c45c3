/** What a stored configuration comes to: everything that has to be asked of a request before its message is an event. */
import type { SourceProbe } from "../../core/gateway/source.ts";
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import { andThen, type MaybePromise } from "../crypto/maybe-promise.ts";
import type { MessageVerifier, ReceivedMessage } from "../message/message.ts";
import type { AcceptedVerification } from "../message/verified-message.ts";
import type { Preset } from "../presets/preset.ts";
import { firstValue, type ValueSource, valueReader } from "../presets/value-source.ts";
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
  /** Answer it; there is nothing to store. */
  | { readonly kind: "challenge"; readonly answer: ChallengeAnswer }
  | {
      readonly kind: "verified";
      readonly verification: AcceptedVerification;
      /** The sender's id of the message, or null; an `Idempotency-Key` of its own comes before it. */
      readonly key: { readonly value: string; readonly isVouchedFor: boolean } | null;
      /** As the sender writes it, such as `customers/create`; null where there is none. */
      readonly eventType: string | null;
    }
  /** Answer 401. `detail` is for the log of the receiver and never for the sender. */
  | Rejected;

export interface SourceVerifier {
  /** `type` of the configuration. */
  readonly type: string;
  /** GET is among them where the provider asks by GET whether the address is wanted. */
  readonly methods: readonly ("GET" | "POST")[];
  /** Checks of the address that the provider makes without any proof. */
  readonly probes: readonly SourceProbe[];
  /** Headers worth handing on, as the provider writes them. */
  readonly forwardHeaders: readonly string[];
  /** Query parameters that carry credentials: neither handed on nor shown. */
  readonly secretParameters: readonly string[];
  /** Whoever ends TLS has to name the certificate of the sender, or nothing is let in. */
  readonly needsClientCertificate: boolean;
  /** True where nothing is verified, or where a composition would be content with that. Show it as a warning. */
  readonly isUnverified: boolean;
  /** The verifier alone, for `createReceiver`. */
  readonly verifier: MessageVerifier;
  /** Whether the sender vouches for what stands there: it is signed, or came with a secret that stands for the request. */
  vouchesFor(source: ValueSource): boolean;
  /** Never throws for what an attacker can send. */
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
    ...valuesOf(message, { verification, preset, vouchesFor }),
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
          return rejected("missing_header", "nothing is asked by GET here");
        return andThen(
          answerGet(crypto, { name, message, keys }),
          (answer): Received => ("kind" in answer ? answer : { kind: "challenge", answer }),
        );
      }
      return andThen(verifier.verify(message, now), (verification): MaybePromise<Received> => {
        if (verification.kind === "rejected") return verification;
        if (name === null) return accepted(message, verification);
        return andThen(answerPost(crypto, { name, message, keys }), (answer) =>
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
  {
    verification,
    preset,
    vouchesFor,
  }: {
    readonly verification: AcceptedVerification;
    readonly preset: Preset | null;
    readonly vouchesFor: (source: ValueSource) => boolean;
  },
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
