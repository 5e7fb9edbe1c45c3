import { andThen, type MaybePromise } from "../crypto/maybe-promise.ts";
import type { MessageVerifier, ReceivedMessage } from "../message/message.ts";
import { allOf, combined } from "../schemes/all-of.ts";
import { anyOf } from "../schemes/any-of.ts";
import { firstAccepted } from "../schemes/first-match.ts";
import type { Received, SourceVerifier } from "./source-verifier.ts";

/** Key and event type come from the verifier that accepts the message. */
export function anyOfSources(sources: readonly SourceVerifier[]): SourceVerifier {
  return {
    ...common("any_of", sources, anyOf),
    isUnverified: sources.some(({ isUnverified }) => isUnverified),
    // It is not known beforehand which of them accepts.
    vouchesFor: (place) => sources.every((source) => source.vouchesFor(place)),
    receive: (message, now) => firstAccepted(sources, (source) => source.receive(message, now)),
  };
}

/**
 * Uses the first key and event type that are found. A GET challenge is answered by the first verifier that recognises
 * it.
 */
export function allOfSources(sources: readonly SourceVerifier[]): SourceVerifier {
  return {
    ...common("all_of", sources, allOf),
    isUnverified: sources.every(({ isUnverified }) => isUnverified),
    vouchesFor: (place) => sources.some((source) => source.vouchesFor(place)),
    receive: (message, now) =>
      message.method === "GET"
        ? firstAccepted(sources, (source) => source.receive(message, now))
        : receiveByAll(sources, message, now.nowSeconds),
  };
}

function receiveByAll(
  [first, ...others]: readonly SourceVerifier[],
  message: ReceivedMessage,
  nowSeconds: number,
): MaybePromise<Received> {
  if (first === undefined) return { kind: "rejected", cause: "unknown_key", detail: "there is no verifier" };
  return others.reduce<MaybePromise<Received>>(
    (before, source) =>
      andThen(before, (left) =>
        left.kind === "rejected"
          ? left
          : andThen(source.receive(message, { nowSeconds }), (right) => both(left, right)),
      ),
    first.receive(message, { nowSeconds }),
  );
}

/** A challenge is only answered if the others accept its message. */
function both(left: Exclude<Received, { readonly kind: "rejected" }>, right: Received): Received {
  if (right.kind === "rejected" || left.kind === "challenge") return right.kind === "rejected" ? right : left;
  if (right.kind === "challenge") return right;
  const verification = combined(left.verification, right.verification);
  if (verification.kind === "rejected") return verification;
  return {
    kind: "verified",
    verification,
    key: left.key ?? right.key,
    eventType: left.eventType ?? right.eventType,
  };
}

function common(
  type: string,
  sources: readonly SourceVerifier[],
  compose: (verifiers: readonly MessageVerifier[]) => MessageVerifier,
): Pick<
  SourceVerifier,
  | "type"
  | "methods"
  | "probes"
  | "forwardHeaders"
  | "secretParameters"
  | "needsClientCertificate"
  | "verifier"
> {
  return {
    type,
    methods: sources.some(({ methods }) => methods.includes("GET")) ? ["GET", "POST"] : ["POST"],
    probes: [...new Set(sources.flatMap(({ probes }) => probes))],
    forwardHeaders: [...new Set(sources.flatMap(({ forwardHeaders }) => forwardHeaders))],
    needsClientCertificate: sources.some(({ needsClientCertificate }) => needsClientCertificate),
    secretParameters: sources.flatMap(({ secretParameters }) => secretParameters),
    verifier: compose(sources.map(({ verifier }) => verifier)),
  };
}
