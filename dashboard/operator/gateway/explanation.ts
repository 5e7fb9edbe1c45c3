/** Sentences about what the gateway received: what became of it, why, and what to do. */
import type { GatewayRequest } from "../../shared/resources.ts";

/** What happened, and what somebody can do about it. */
export interface Explanation {
  readonly sentence: string;
  /** Null where nothing has to be done. */
  readonly remedy: string | null;
}

const retryAfterwards = "Then retry this request: its body is kept for a day.";

const causes: Readonly<Record<string, Explanation>> = {
  missing_header: {
    sentence: "The proof of the sender is missing.",
    remedy:
      "See whether the sender was told to sign: a secret has to be entered there. If it signs another way, choose that way under Verification.",
  },
  malformed_header: {
    sentence: "The proof of the sender cannot be read.",
    remedy: "The sender signs another way than this source expects. Choose that way under Verification.",
  },
  bad_message_id: {
    sentence: "The id of the message cannot be used.",
    remedy: "The sender has to give an id of printable characters. Only the sender can change that.",
  },
  bad_timestamp: {
    sentence: "The signed time cannot be read.",
    remedy: "Compare the form of the time under Verification with what the sender documents.",
  },
  too_old: {
    sentence: "The signed time is too long ago.",
    remedy:
      "Compare the clocks of the sender and of this machine. If both are right, somebody sent a captured message again, and nothing has to be done.",
  },
  too_new: {
    sentence: "The signed time lies ahead.",
    remedy: "Compare the clocks of the sender and of this machine.",
  },
  unknown_key: {
    sentence: "It is signed with a key that this source does not have.",
    remedy: `Enter the sender's present key under Verification. ${retryAfterwards}`,
  },
  wrong_key_kind: {
    sentence: "The secret of this source is of another kind than the signature.",
    remedy: `Enter the key that belongs to this signature: a public key and a shared secret are not the same. ${retryAfterwards}`,
  },
  body_altered: {
    sentence: "The body is not the one that was signed.",
    remedy:
      "Something between the sender and this server changes it, such as a proxy that writes JSON anew. Have it pass the body on byte for byte.",
  },
  no_matching_signature: {
    sentence: "The signature does not match the secret of this source.",
    remedy: `Copy the secret from the sender again and enter it under Verification. ${retryAfterwards}`,
  },
  bad_token: {
    sentence: "The password, key or token is wrong or missing.",
    remedy: `Enter the same one here, under Verification, and at the sender. ${retryAfterwards}`,
  },
  source_inactive: { sentence: "The source is switched off.", remedy: "Switch it on to take messages." },
  method_not_allowed: {
    sentence: "Messages come by POST, and this one did not.",
    remedy: "Choose POST at the sender. PUT can be allowed in the settings of the source.",
  },
  payload_too_large: {
    sentence: "The body is larger than this source takes.",
    remedy: "Raise the limit in the settings of the source, up to POSTHORN_MAX_PAYLOAD_BYTES of the server.",
  },
  empty_body: { sentence: "The body was empty.", remedy: "The sender has to send a body." },
  loop: {
    sentence: "It has been here before, or has passed too many gateways.",
    remedy: "Find the connection that leads back to this gateway, and remove it.",
  },
  idempotency_key_malformed: {
    sentence: "Its Idempotency-Key cannot be used.",
    remedy: "The sender has to give one key, of at most 255 printable characters.",
  },
  no_handshake: {
    sentence: "It asked by OPTIONS whether it may deliver, in a form that is no handshake of CloudEvents.",
    remedy: "The sender has to give WebHook-Request-Origin. Only the sender can change that.",
  },
  rate_limited: {
    sentence: "The source is over its limit for now.",
    remedy:
      "The sender was asked to come back. Raise the limit in the settings of the source if that is usual.",
  },
};

const keyReused: Explanation = {
  sentence: "Its key is known, from a message with another body.",
  remedy: "The sender has to give each message a key of its own.",
};

export function explanationOf(
  request: Pick<GatewayRequest, "outcome" | "rejection_cause" | "status" | "scheme">,
): Explanation {
  const { outcome, rejection_cause: cause, status, scheme } = request;
  const proof = scheme === "none" ? "Nobody verified it" : "It is authentic";
  switch (outcome) {
    case "accepted":
      return { sentence: `${proof}, and it was taken.`, remedy: null };
    case "duplicate":
      return {
        sentence: "It is a repeat: it was answered as the first one, and not sent on again.",
        remedy: null,
      };
    case "ignored":
      return { sentence: `${proof}, and every filter left it out.`, remedy: null };
    case "challenge":
      return { sentence: "The provider checked the address, and was answered.", remedy: null };
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
    sentence: `It was refused${cause === null ? "" : `: ${cause.replaceAll("_", " ")}`}.`,
    remedy: null,
  };
}

function failureOf(proof: string, status: number): Explanation {
  if (status === 503)
    return {
      sentence: `${proof}, and it was not taken: the sender was asked to come back.`,
      remedy: "Either no connection leads on, or one is paused, or its webhook takes nothing for now.",
    };
  if (status === 504)
    return {
      sentence: `${proof}, and the webhook did not answer in time.`,
      remedy: "See the webhook's deliveries. Store and forward answers the sender without waiting for it.",
    };
  return {
    sentence: `${proof}, and the webhook did not take it.`,
    remedy: "See what the webhook answered, below.",
  };
}

/** Whether it may be taken after a secret, a filter or a connection was put right. */
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
