/** POST exchanges a code for a token; DELETE ends a session. */
export const portalSessionPath = "/portal/session";
