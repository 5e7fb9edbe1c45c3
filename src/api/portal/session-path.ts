/** Exchanges a code for a token, and ends a session. */
export const portalSessionPath = "/portal/session";
