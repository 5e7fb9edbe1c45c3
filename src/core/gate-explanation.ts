import type { WaitingFor } from "./delivery.ts";
import type { Webhook } from "./webhook.ts";

/** What holds a delivery that waits, since when and until when as far as that is known, why, and what ends it sooner. */
export interface DeliveryGate {
  readonly gate: WaitingFor;
  /** Unix milliseconds; null where nobody noted it. */
  readonly since: number | null;
  /** Unix milliseconds; null when only a person or an answer can open it. */
  readonly until: number | null;
  /** A sentence. */
  readonly cause: string;
  /** Null where it only has to be waited for. */
  readonly remedy: Remedy | null;
}

/** A call of the API that opens a gate. */
export interface Remedy {
  /** A sentence. */
  readonly text: string;
  readonly method: "GET" | "POST" | "PATCH" | "PUT";
  /** With its query. */
  readonly path: string;
  /** As JSON; null for a call without one, or where the caller has to decide what it says. */
  readonly body: Readonly<Record<string, unknown>> | null;
}

export interface GateFacts {
  readonly gate: WaitingFor;
  readonly deliveryId: string;
  /** Undefined once it was deleted. */
  readonly webhook: Webhook | undefined;
  /** The circuit was opened by hand. */
  readonly isForcedOpen: boolean;
  /** Probes decide whether the circuit closes. */
  readonly isHalfOpen: boolean;
}

/** Why a gate is closed and what opens it. Pure. */
export function explainGate(facts: GateFacts): Pick<DeliveryGate, "cause" | "remedy"> {
  const { webhook } = facts;
  if (webhook === undefined) return { cause: "The webhook was deleted.", remedy: null };
  return { cause: causeOf(facts, webhook), remedy: remedyOf(facts, webhook) };
}

const causes: Readonly<Record<Exclude<WaitingFor, "inactive" | "paused" | "circuit_open">, string>> = {
  no_signing_key:
    "The webhook has no key for its signatures, and unsigned requests are not sent: its key is gone, or its profile came to ask for another kind.",
  schedule: "The last attempt failed, and the next one is due by the retry schedule.",
  retry_after: "The receiver asked to wait with Retry-After.",
  rate_limit_pause: "The receiver answered 429 without saying how long to wait.",
  timeout_pause: "An attempt ran into its timeout.",
  throttle_pause: "The receiver answered 502 or 504.",
  failure_pause: "A connection to the receiver ended without an answer.",
  rate_limit: "The rate limit of the webhook is used up.",
  tenant_rate_limit: "The rate limit of the tenant is used up.",
  order: "The webhook keeps its order, and an earlier delivery has not ended.",
  concurrency: "As many requests to the webhook as are allowed are in flight.",
  capacity: "It waits for its turn among all deliveries, or no worker serves its tenant.",
  in_flight: "Its request is in flight.",
};

function causeOf(
  { gate, isForcedOpen, isHalfOpen }: GateFacts,
  { status, statusReason, pause }: Webhook,
): string {
  if (gate === "inactive")
    return `The webhook is ${status}${statusReason === null ? "" : ` (${statusReason})`}.`;
  if (gate === "paused")
    return `The webhook was paused by hand${typeof pause?.reason === "string" ? `: ${pause.reason}` : "."}`;
  if (gate !== "circuit_open") return causes[gate];
  if (isForcedOpen) return "The circuit was opened by hand.";
  return isHalfOpen
    ? "The circuit is half open after too many failed attempts: a few probes decide, and everything else waits for them."
    : "The circuit is open because too many attempts of the webhook failed.";
}

function remedyOf({ gate, deliveryId }: GateFacts, { id, tenantId, status }: Webhook): Remedy | null {
  const at = `/v1/webhooks/${id}`;
  switch (gate) {
    case "inactive":
      if (status === "unverified")
        return call("Ask the receiver again whether it wants the events.", "POST", `${at}/verify`);
      return call("Switch the webhook on again.", "POST", `${at}/enable`);
    case "no_signing_key":
      return call(
        "Replace the secret of the webhook; its receiver needs the new one.",
        "POST",
        `${at}/secret/rotate`,
      );
    case "paused":
    case "retry_after":
    case "rate_limit_pause":
    case "timeout_pause":
    case "throttle_pause":
    case "failure_pause":
      return call("End the pause.", "POST", `${at}/resume`);
    case "circuit_open":
      return { ...call("Close the circuit.", "PATCH", `${at}/circuit-breaker`), body: { action: "reset" } };
    case "rate_limit":
      return { ...call("Raise the rate limit of the webhook.", "PATCH", at), body: null };
    case "tenant_rate_limit":
      return { ...call("Raise the rate limit of the tenant.", "PUT", `/v1/tenants/${tenantId}`), body: null };
    case "order":
      return {
        ...call(
          "Look at the deliveries that come first.",
          "GET",
          `${at}/deliveries?order=oldest&status=pending&status=failed`,
        ),
        body: null,
      };
    case "schedule":
      return call("Try it again now.", "POST", `${at}/deliveries/${deliveryId}/retry`);
    default:
      return null;
  }
}

function call(text: string, method: Remedy["method"], path: string): Remedy {
  return { text, method, path, body: {} };
}
