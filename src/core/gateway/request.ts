/** What became of a request that the gateway received. */
export const gatewayOutcomes = [
  /** Stored, or accepted by the destination. */
  "accepted",
  /** Known already: answered as the first time. */
  "duplicate",
  /** Refused for what it is: no proof, an unusable key, too large. */
  "rejected",
  /** Authentic, and nobody wanted it. */
  "ignored",
  /** Answered a provider that checks the address. */
  "challenge",
  /** The destination or the store did not take it now. */
  "failed",
] as const;
/** How long the log has a line, and the body of what may be tried again; a bookmark keeps both. */
export const receivedMs = 7 * 86_400_000;
export const receivedBodiesMs = 86_400_000;
/** Of one source, in what a listing tells of it. */
export const recentRequestsMax = 100;

export type GatewayOutcome = (typeof gatewayOutcomes)[number];
