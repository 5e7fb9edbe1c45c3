/**
 * How senders check an address before they use it: by HEAD, by GET, or by POST with a `validationToken` in the query
 * that must be returned.
 */
export const sourceProbes = ["head", "get", "validation_token"] as const;
export type SourceProbe = (typeof sourceProbes)[number];
