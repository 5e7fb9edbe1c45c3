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
/** Of one source, in what a listing tells of it. */
export const recentRequestsMax = 100;

export type GatewayOutcome = (typeof gatewayOutcomes)[number];
