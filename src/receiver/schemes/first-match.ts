import type { MessageVerifier, RejectionCause, Verification } from "../message/message.ts";
import type { MaybePromise } from "../crypto/maybe-promise.ts";

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

type Rejected = Extract<Verification, { kind: "rejected" }>;

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
    if (!isRejection(answer)) return answer;
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

function isRejection(answer: { readonly kind: string }): answer is Rejected {
  return answer.kind === "rejected";
}
