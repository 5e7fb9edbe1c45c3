import type { WaitingFor } from "./delivery.ts";
import type { Webhook } from "./webhook.ts";

/** What holds back a waiting delivery: since when, until when (if known), why, and how to end the wait sooner. */
export interface DeliveryGate {
  readonly gate: WaitingFor;
  /** Unix milliseconds; null if it was not recorded. */
  readonly since: number | null;
  /** Unix milliseconds; null if only a person or a response can open it. */
  readonly until: number | null;
  /** A single sentence. */
  readonly cause: string;
  /** Null if the only option is to wait. */
  readonly remedy: Remedy | null;
}

/** An API call that opens a gate. */
export interface Remedy {
  /** A single sentence. */
  readonly text: string;
  readonly method: "GET" | "POST" | "PATCH" | "PUT";
  /** Path of the call, including the query. */
  readonly path: string;
  /** The JSON body; null for a call without a body, or if the caller has to choose its contents. */
  readonly body: Readonly<Record<string, unknown>> | null;
}

export interface GateFacts {
  readonly gate: WaitingFor;
  /** Null for the gates of a webhook. */
  readonly deliveryId: string | null;
  /** Undefined if the webhook was deleted. */
  readonly webhook: Webhook | undefined;
  /** Whether the circuit was opened manually. */
  readonly isForcedOpen: boolean;
  /** Whether probes are currently deciding if the circuit closes. */
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
    "The webhook has no signing key, and unsigned requests are not sent: its key is missing, or its profile now requires a different kind of key.",
  schedule: "It is not due yet: it waits for its next attempt, or its event was published with a delay.",
  retry_after: "The receiver requested a pause with Retry-After.",
  rate_limit_pause: "The receiver responded with 429 and did not say how long to wait.",
  timeout_pause: "An attempt timed out.",
  throttle_pause: "The receiver responded with 502 or 504.",
  failure_pause: "A connection to the receiver ended without a response.",
  rate_limit: "The rate limit of the webhook is used up.",
  tenant_rate_limit: "The rate limit of the tenant is used up.",
  order: "The webhook delivers in order, and an earlier delivery has not ended.",
  concurrency: "The webhook has reached its limit of concurrent requests.",
  capacity: "The delivery is waiting for a concurrency slot, or no worker serves its tenant.",
  in_flight: "The request is in flight.",
};

function causeOf(
  { gate, isForcedOpen, isHalfOpen }: GateFacts,
  { status, statusReason, pause }: Webhook,
): string {
  if (gate === "inactive")
    return `The webhook is ${status}${statusReason === null ? "" : ` (${statusReason})`}.`;
  if (gate === "paused")
    return `The webhook was paused manually${typeof pause?.reason === "string" ? `: ${pause.reason}` : "."}`;
  if (gate !== "circuit_open") return causes[gate];
  if (isForcedOpen) return "The circuit was opened manually.";
  return isHalfOpen
    ? "The circuit is half open after too many failed attempts: a few probes decide whether it closes, and all other deliveries wait."
    : "The circuit is open because too many attempts of the webhook failed.";
}

function remedyOf({ gate, deliveryId }: GateFacts, { id, tenantId, status }: Webhook): Remedy | null {
  const at = `/v1/webhooks/${id}`;
  switch (gate) {
    case "inactive":
      if (status === "unverified")
        return call("Request verification from the receiver again.", "POST", `${at}/verify`);
      return call("Enable the webhook again.", "POST", `${at}/enable`);
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
      return call("Resume the webhook.", "POST", `${at}/resume`);
    case "circuit_open":
      return { ...call("Close the circuit.", "PATCH", `${at}/circuit-breaker`), body: { action: "reset" } };
    case "rate_limit":
      return { ...call("Raise the rate limit of the webhook.", "PATCH", at), body: null };
    case "tenant_rate_limit":
      return { ...call("Raise the rate limit of the tenant.", "PUT", `/v1/tenants/${tenantId}`), body: null };
    case "order":
      return {
        ...call(
          "Show the waiting deliveries, oldest first.",
          "GET",
          `${at}/deliveries?order=oldest&status=pending&status=failed`,
        ),
        body: null,
      };
    case "schedule":
      if (deliveryId === null) return null;
      return call("Retry the delivery now.", "POST", `${at}/deliveries/${deliveryId}/retry`);
    default:
      return null;
  }
}

function call(text: string, method: Remedy["method"], path: string): Remedy {
  return { text, method, path, body: {} };
}
