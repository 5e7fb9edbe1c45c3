import { andThen, type MaybePromise } from "../crypto/crypto.ts";
import type { MessageVerifier, RejectionCause, Verification } from "../message/message.ts";
import { keyTexts } from "../providers/options.ts";
import { isRejected, type Rejected } from "../providers/reading.ts";
import { misconfigured } from "../receiver-error.ts";

/**
 * Accepts only messages that every verifier accepts, such as a signature and a bearer token. The verifiers run in
 * order, and the first rejection is returned. The first verifier determines the producer; message id and timestamp come
 * from the first verifier that provides them; `scheme` joins the schemes of all verifiers with `+`. Throws
 * ReceiverError `misconfigured` for an empty list of verifiers.
 */
export function allOf(verifiers: readonly MessageVerifier[]): MessageVerifier {
  const [first, ...others] = verifiers.length > 0 ? verifiers : [];
  if (first === undefined) throw misconfigured("allOf needs a list of at least one verifier");
  return {
    verify: (message, now) =>
      others.reduce<MaybePromise<Verification>>(
        (before, verifier) =>
          andThen(before, (left) => {
            if (left.kind === "rejected") return left;
            return andThen(verifier.verify(message, now), (right) => combined(left, right));
          }),
        first.verify(message, now),
      ),
  };
}

/** Combines the results of two verifiers that accepted the same message. */
export function combined(
  left: Extract<Verification, { kind: "verified" }>,
  right: Verification,
): Verification {
  if (right.kind === "rejected") return right;
  const replayId = left.replayId ?? right.replayId;
  return {
    kind: "verified",
    scheme: `${left.scheme}+${right.scheme}`,
    producer: left.producer,
    messageId: left.messageId ?? right.messageId,
    timestampSeconds: left.timestampSeconds ?? right.timestampSeconds,
    ...(replayId !== undefined && { replayId }),
    ...((left.isKeyAuthentic === true || right.isKeyAuthentic === true) && { isKeyAuthentic: true }),
  };
}

/** The first item that passes; synchronous unless a test returns a promise. */
export function firstMatch<Item>(
  items: readonly Item[],
  test: (item: Item) => MaybePromise<boolean>,
): MaybePromise<Item | null> {
  const rest = items[Symbol.iterator]();
  const next = (): MaybePromise<Item | null> => {
    for (let step = rest.next(); step.done !== true; step = rest.next()) {
      const item = step.value;
      const answer = test(item);
      if (answer instanceof Promise) return answer.then((passes) => (passes ? item : next()));
      if (answer) return item;
    }
    return null;
  };
  return next();
}

/** How far verification got before the rejection. The rejection that got furthest is the most informative. */
const progress: Readonly<Record<RejectionCause, number>> = {
  missing_header: 0,
  malformed_header: 1,
  bad_message_id: 2,
  bad_timestamp: 2,
  unknown_key: 3,
  bad_token: 3,
  wrong_key_kind: 4,
  too_old: 5,
  too_new: 5,
  no_matching_signature: 6,
  body_altered: 7,
};

/** The first item that verifies, otherwise the most informative rejection. `items` must not be empty. */
export function firstVerified<Item>(
  items: readonly Item[],
  check: (item: Item) => ReturnType<MessageVerifier["verify"]>,
): MaybePromise<Verification> {
  return firstAccepted<Item, Verification>(items, check);
}

/** Like `firstVerified`, for any result that may be a rejection. */
export function firstAccepted<Item, Answer extends { readonly kind: string }>(
  items: readonly Item[],
  check: (item: Item) => MaybePromise<Answer | Rejected>,
): MaybePromise<Answer | Rejected> {
  const rest = items[Symbol.iterator]();
  let best: Rejected | null = null;
  const settle = (answer: Answer | Rejected): Answer | null => {
    if (!isRejected(answer)) return answer;
    if (best === null || progress[answer.cause] > progress[best.cause]) best = answer;
    return null;
  };
  const next = (): MaybePromise<Answer | Rejected> => {
    for (let step = rest.next(); step.done !== true; step = rest.next()) {
      const answer = check(step.value);
      if (answer instanceof Promise) return answer.then((later) => settle(later) ?? next());
      const accepted = settle(answer);
      if (accepted !== null) return accepted;
    }
    return best ?? { kind: "rejected", cause: "missing_header", detail: "there is no signature" };
  };
  return next();
}

/**
 * Accepts messages that at least one verifier accepts. The first verifier that accepts determines scheme and producer.
 * If every verifier rejects, the most informative rejection is returned: an altered body rather than another scheme's
 * missing header. Throws ReceiverError `misconfigured` for an empty list of verifiers, because it would accept nothing
 * or, worse, everything.
 */
export function anyOf(verifiers: readonly MessageVerifier[]): MessageVerifier {
  // This also detects a single verifier that is not in a list, because it has no length.
  if (!(verifiers.length > 0)) throw misconfigured("anyOf needs a list of at least one verifier");
  return {
    verify: (message, now) => firstVerified(verifiers, (verifier) => verifier.verify(message, now)),
  };
}

/**
 * Secrets, keys or tokens as strings: one, several during a rotation, or those of several producers keyed by name. The
 * name becomes the `producer` of verified messages; without names it is `default`. Up to 16 per producer, and 64 in
 * total.
 */
export type ByProducer = string | readonly string[] | Readonly<Record<string, string | readonly string[]>>;

const producersMax = 256;
/**
 * Limit for all producers together, because each key may have to be tried for an attacker's message. Use separate
 * endpoints for more producers.
 */
const keysMax = 64;

/**
 * All values with their producers, converted by `read`. Without any values, throws ReceiverError `misconfigured`, whose
 * message names the option.
 */
export function readByProducer<Value>(
  given: ByProducer,
  option: string,
  readText: (text: string) => Value,
): readonly { readonly producer: string; readonly value: Value }[] {
  const isNamed = typeof given === "object" && given !== null && !Array.isArray(given);
  const named = isNamed ? Object.entries(given) : [["default", given] as const];
  if (named.length === 0) throw misconfigured(`${option}: at least one producer is needed`);
  if (named.length > producersMax)
    throw misconfigured(`${option}: no more than ${producersMax} producers can be given`);
  const read = named.flatMap(([producer, texts]) => {
    if (producer === "") throw misconfigured(`${option}: a producer must have a name`);
    return keyTexts(texts, option).map((text) => ({ producer, value: readText(text) }));
  });
  if (read.length > keysMax)
    throw misconfigured(`${option}: no more than ${keysMax} keys can be given in total`);
  return read;
}
