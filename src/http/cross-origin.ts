import type { FastifyReply, FastifyRequest } from "fastify";
import { portalToken } from "./authentication.ts";
import type { Rendered } from "./problems.ts";

/** POST exchanges a code for a token; DELETE ends a session. */
export const portalSessionPath = "/portal/session";

// CORS for calls with a portal session token. Only origins in the settings are allowed, and never with cookies.

const methods = "GET, POST, PUT, PATCH, DELETE";
const requestFields = "authorization, content-type, idempotency-key";
const answerFields = "retry-after, ratelimit, ratelimit-policy, location";
const preflightSeconds = 600;

/** The response to a preflight request; null if the origin is not allowed. */
export function answerPreflight(
  { method, headers }: FastifyRequest,
  origins: ReadonlySet<string>,
): Rendered | null {
  const { origin } = headers;
  if (method !== "OPTIONS" || origin === undefined || !origins.has(origin)) return null;
  if (headers["access-control-request-method"] === undefined) return null;
  return {
    status: 204,
    headers: {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": methods,
      "access-control-allow-headers": requestFields,
      "access-control-max-age": String(preflightSeconds),
      "vary": "origin",
    },
    text: "",
  };
}

/**
 * Allows listed origins to read responses to calls with a token, including errors and the exchange of a code for a
 * token.
 */
export function permitOrigin(origins: ReadonlySet<string>) {
  return ({ headers, url }: FastifyRequest, { raw }: FastifyReply, done: () => void): void => {
    const { origin } = headers;
    const isOfPortal = portalToken(headers) !== null || url.split("?", 1)[0] === portalSessionPath;
    if (origin !== undefined && origins.has(origin) && isOfPortal) {
      raw.setHeader("access-control-allow-origin", origin);
      raw.setHeader("access-control-expose-headers", answerFields);
      raw.setHeader("vary", "origin");
    }
    done();
  };
}
