/** Wording for gateway requests, sources and filter trials. */
import type { FilterEvaluation, FilterTraceStep, GatewayRequest, Source } from "../../shared/resources.ts";
import type { Tone } from "../../shared/ui/tone.ts";

export type Outcome = GatewayRequest["outcome"];

interface OutcomeWords {
  readonly tone: Tone;
  readonly text: string;
}

const outcomeWords: Readonly<Record<Outcome, OutcomeWords>> = {
  accepted: { tone: "good", text: "accepted" },
  duplicate: { tone: "off", text: "duplicate" },
  rejected: { tone: "bad", text: "rejected" },
  ignored: { tone: "off", text: "ignored" },
  challenge: { tone: "new", text: "address check" },
  failed: { tone: "wait", text: "failed" },
};

export const outcomes = Object.keys(outcomeWords) as readonly Outcome[];

export function outcomeOf(outcome: Outcome): OutcomeWords {
  return outcomeWords[outcome];
}

/** State of a source. */
export function sourceStateOf(source: Pick<Source, "active" | "when_inactive" | "warnings">): OutcomeWords {
  if (!source.active) return { tone: "off", text: source.when_inactive === "gone" ? "retired" : "disabled" };
  if (source.warnings.some((warning) => warning.includes("cannot be used")))
    return { tone: "bad", text: "misconfigured" };
  return { tone: "good", text: "active" };
}

export const modeWords: Readonly<Record<Source["mode"], string>> = {
  pass_through: "pass-through",
  store_and_forward: "store and forward",
};

interface Explanation {
  readonly sentence: string;
  /** Null if no action is needed. */
  readonly remedy: string | null;
}

const retryAfterwards = "Then retry this request. Its body is kept for a day.";

const causes: Readonly<Record<string, Explanation>> = {
  missing_header: {
    sentence: "The signature or credential is missing.",
    remedy:
      "Check that a secret is configured at the sender. If the sender uses a different scheme, select it under Verification.",
  },
  malformed_header: {
    sentence: "The signature or credential is malformed.",
    remedy:
      "The sender uses a different scheme from the one that this source expects. Select it under Verification.",
  },
  bad_message_id: {
    sentence: "The message ID is invalid.",
    remedy: "The sender must use an ID of printable characters. Only the sender can fix this.",
  },
  bad_timestamp: {
    sentence: "The signed timestamp is malformed.",
    remedy: "Compare the timestamp format under Verification with the sender's documentation.",
  },
  too_old: {
    sentence: "The signed timestamp is too old.",
    remedy:
      "Compare the sender's clock with the clock of the Posthorn server. If both are right, this was a replayed message, and no action is needed.",
  },
  too_new: {
    sentence: "The signed timestamp is in the future.",
    remedy: "Compare the sender's clock with the clock of the Posthorn server.",
  },
  unknown_key: {
    sentence: "The message is signed with a key that this source does not have.",
    remedy: `Enter the sender's current key under Verification. ${retryAfterwards}`,
  },
  wrong_key_kind: {
    sentence: "The key type of this source does not match the signature.",
    remedy: `Enter a key of the right type: a public key is not a shared secret. ${retryAfterwards}`,
  },
  body_altered: {
    sentence: "The body differs from the signed body.",
    remedy:
      "Something between the sender and this server changes the body, such as a proxy that reserializes JSON. Configure it to pass the body unchanged.",
  },
  no_matching_signature: {
    sentence: "The signature does not match the secret of this source.",
    remedy: `Copy the secret from the sender again and enter it under Verification. ${retryAfterwards}`,
  },
  bad_token: {
    sentence: "The password, key or token is missing or wrong.",
    remedy: `Enter the same value under Verification and at the sender. ${retryAfterwards}`,
  },
  source_inactive: { sentence: "The source is disabled.", remedy: "Enable it to accept messages." },
  method_not_allowed: {
    sentence: "Messages must be sent with POST.",
    remedy: "Configure POST at the sender. PUT can be allowed in the settings of the source.",
  },
  payload_too_large: {
    sentence: "The body exceeds the size limit of this source.",
    remedy: "Raise the limit in the settings of the source, up to POSTHORN_MAX_PAYLOAD_BYTES of the server.",
  },
  empty_body: { sentence: "The body was empty.", remedy: "The sender must send a body." },
  loop: {
    sentence: "The message is in a forwarding loop, or has passed too many gateways.",
    remedy: "Find the connection that leads back to this gateway, and remove it.",
  },
  idempotency_key_malformed: {
    sentence: "The Idempotency-Key is invalid.",
    remedy: "The sender must send exactly one key of up to 255 printable characters.",
  },
  no_handshake: {
    sentence: "The OPTIONS request is not a valid CloudEvents handshake.",
    remedy: "The sender must send WebHook-Request-Origin. Only the sender can fix this.",
  },
  rate_limited: {
    sentence: "The source exceeded its rate limit.",
    remedy:
      "The sender was asked to retry later. If this volume is normal, raise the limit in the settings of the source.",
  },
};

const keyReused: Explanation = {
  sentence: "The idempotency key was already used for a message with a different body.",
  remedy: "The sender must use a unique key for each message.",
};

export function explanationOf(
  request: Pick<GatewayRequest, "outcome" | "rejection_cause" | "status" | "scheme">,
): Explanation {
  const { outcome, rejection_cause: cause, status, scheme } = request;
  const proof = scheme === "none" ? "The message is unverified" : "The message is authentic";
  switch (outcome) {
    case "accepted":
      return { sentence: `${proof} and was accepted.`, remedy: null };
    case "duplicate":
      return {
        sentence: "Duplicate message. It got the same response as the first one and was not forwarded again.",
        remedy: null,
      };
    case "ignored":
      return { sentence: `${proof} but matched no filter.`, remedy: null };
    case "challenge":
      return { sentence: "The provider checked the address and got the expected response.", remedy: null };
    case "failed":
      return failureOf(proof, status);
    case "rejected":
      return (cause === null ? null : causes[cause]) ?? (status === 422 ? keyReused : unknownCause(cause));
    default:
      return outcome satisfies never;
  }
}

function unknownCause(cause: string | null): Explanation {
  return {
    sentence: `The message was rejected${cause === null ? "" : `: ${cause.replaceAll("_", " ")}`}.`,
    remedy: null,
  };
}

function failureOf(proof: string, status: number): Explanation {
  if (status === 503)
    return {
      sentence: `${proof} but was not accepted. The sender was asked to retry later.`,
      remedy: "Check the connections: there is none, one is paused, or its webhook is currently unavailable.",
    };
  if (status === 504)
    return {
      sentence: `${proof} but the webhook did not respond in time.`,
      remedy:
        "Check the webhook's deliveries. Store and forward responds to the sender without waiting for the webhook.",
    };
  return {
    sentence: `${proof} but the webhook did not accept it.`,
    remedy: "See the webhook's response below.",
  };
}

/** Whether a retry may succeed after the user has fixed a secret, filter or connection. */
export function mayBeRetried({
  outcome,
  status,
  event_id,
}: Pick<GatewayRequest, "outcome" | "status" | "event_id">): boolean {
  return (
    event_id === null &&
    (outcome === "ignored" || outcome === "failed" || (outcome === "rejected" && status === 401))
  );
}

const expectations: Readonly<Record<string, string>> = {
  $eq: "must be",
  $neq: "must not be",
  $in: "must be one of",
  $nin: "must not be one of",
  $gt: "must be more than",
  $gte: "must be at least",
  $lt: "must be less than",
  $lte: "must be at most",
  $startsWith: "must start with",
  $endsWith: "must end with",
};

/** Expected and actual values of a condition, shown after its path. */
export function conditionInWords(step: FilterTraceStep): string {
  const { operator, expected } = step;
  if (operator === "$or") return "at least one of its rules must be true";
  if (operator === "$not") return "its rule must be false";
  return `${expectation(operator, expected)}, ${finding(step)}`;
}

function expectation(operator: string, expected: string | null): string {
  if (operator === "$exist") return expected === "true" ? "must be present" : "must be absent";
  return `${expectations[operator] ?? operator} ${expected ?? ""}`;
}

function finding({ operator, actual, unknown }: FilterTraceStep): string {
  if (unknown === "not_kept") return "is not stored";
  if (unknown === "masked") return operator === "$exist" ? "is present" : "is masked in the log";
  if (actual === null) return "is missing";
  return operator === "$exist" ? "is present" : `is ${actual}`;
}

/** Result for one message, shown after its name. */
export function verdictInWords({ matches = null, rule = null }: FilterEvaluation): string {
  if (matches === null)
    return "the result is unknown, because it depends on data that the log does not store.";
  return matches ? "it would be forwarded." : `it would be filtered out by ${rule ?? ""}.`;
}

/** Result for many requests, followed by the numbers of requests that were not evaluated. */
export function countInWords(found: FilterEvaluation): string {
  const { matched = 0, examined = 0, not_examined: untold = 0, not_routed: unrouted = 0 } = found;
  const looked = examined + untold + unrouted;
  if (looked === 0) return "This source has received no requests yet.";
  return [
    `${matched} of the last ${looked} would be forwarded.`,
    ...(untold > 0
      ? [`${untold} are unknown, because they depend on data that the log does not store.`]
      : []),
    ...(unrouted > 0 ? [`${unrouted} did not reach a filter: rejected, duplicate, or address check.`] : []),
  ].join(" ");
}
