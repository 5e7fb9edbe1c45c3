/**
 * How senders check an address before they use it: with HEAD, with GET, or with a POST whose query contains a
 * `validationToken` that must be returned.
 */
export const sourceProbes = ["head", "get", "validation_token"] as const;
export type SourceProbe = (typeof sourceProbes)[number];
