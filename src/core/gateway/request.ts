/** Outcomes of a request that the gateway received. */
export const gatewayOutcomes = [
  /** Stored, or accepted by the destination. */
  "accepted",
  /** Already known: answered like the first time. */
  "duplicate",
  /** Refused because of its content: not authenticated, an unusable key, too large. */
  "rejected",
  /** Authentic, but no connection accepted it. */
  "ignored",
  /** A provider's check of the address was answered. */
  "challenge",
  /** The destination or the store could not accept it now. */
  "failed",
] as const;
/** How long the log keeps an entry, and the body of a request that may be retried. A bookmark keeps both. */
export const receivedMs = 7 * 86_400_000;
export const receivedBodiesMs = 86_400_000;
/** Requests of one source that a list summarises. */
export const recentRequestsMax = 100;

export type GatewayOutcome = (typeof gatewayOutcomes)[number];
