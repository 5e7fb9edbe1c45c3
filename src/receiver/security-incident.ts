import { messageOf } from "../core/thrown.ts";
import type { RejectionCause, Verification } from "./message/message.ts";

/**
 * An event that honest senders do not cause: a message that is not authentic, one outside the tolerance for timestamps,
 * or a known key with another body. Contains no secret and no part of a body.
 */
export interface SecurityIncident {
  readonly kind: "bad_signature" | "stale_timestamp" | "key_reused";
  /** One sentence for the log. */
  readonly detail: string;
  /** Result of the verifier; null if the signature was valid. */
  readonly cause: RejectionCause | null;
  /** Null if no sender was authenticated. */
  readonly producer: string | null;
  /** Only ids that were verified. */
  readonly messageId: string | null;
  readonly occurredAt: Date;
}

/** The incident for a rejected message. */
export function rejectionIncident(
  rejection: Extract<Verification, { readonly kind: "rejected" }>,
  occurredAt: Date,
): SecurityIncident {
  const { cause, detail } = rejection;
  const isStale = cause === "too_old" || cause === "too_new";
  const kind = isStale ? "stale_timestamp" : "bad_signature";
  return { kind, detail, cause, producer: null, messageId: null, occurredAt };
}

export interface IncidentReport {
  /** `https://posthorn.example/v1/webhooks/{id}/incidents`. */
  readonly url: string;
  /** Sent as `Authorization: Bearer`; an API key of the tenant. */
  readonly apiKey?: string;
  readonly incident: Pick<SecurityIncident, "kind" | "detail" | "messageId" | "occurredAt">;
  /** Default 10,000. */
  readonly timeoutMs?: number;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * Reports an incident to the sender, as JSON `{kind, detail, message_id, occurred_at}`. Never throws, because nothing
 * depends on it. Attackers can cause incidents at will, so do not report every one.
 */
export async function reportIncident(
  report: IncidentReport,
): Promise<{ readonly kind: "reported" } | { readonly kind: "failed"; readonly detail: string }> {
  const { url, apiKey, incident, timeoutMs = 10_000, fetch = globalThis.fetch } = report;
  try {
    const response = await fetch(url, {
      method: "POST",
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        "content-type": "application/json",
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({
        kind: incident.kind,
        detail: incident.detail,
        message_id: incident.messageId,
        occurred_at: incident.occurredAt.toISOString(),
      }),
    });
    await response.body?.cancel();
    if (response.ok) return { kind: "reported" };
    return { kind: "failed", detail: `the sender responded with ${response.status}` };
  } catch (error) {
    return { kind: "failed", detail: messageOf(error) };
  }
}
