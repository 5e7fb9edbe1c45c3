import { tryParseJson } from "../../core/json/try-parse.ts";
import type { Shortage, TransportResult } from "../../ports/transport.ts";
import { responseBodyBytesMaxAllowed } from "../../ports/transport.ts";

/** The validated response of a token endpoint. `detail` is one sentence without secrets that says what to fix. */
export type TokenAnswer =
  | { readonly kind: "granted"; readonly accessToken: string; readonly lifetimeMs: number }
  | { readonly kind: "failed"; readonly detail: string; readonly shortage?: Shortage };

/** For responses without `expires_in`, which RFC 6749 (5.1) only recommends. */
const defaultLifetimeMs = 5 * 60_000;
/** Upper limit for lifetimes. */
const lifetimeMsMax = 24 * 60 * 60_000;
/** As a lifetime this would be more than thirty years, so it must be a timestamp. */
const unixSecondsMin = 1e9;
/** Fits into a request header of most receivers. */
const tokenLengthMax = 8 * 1024;

/**
 * RFC 6749, 5.2: error codes with advice for the owner. Other codes are not shown, because a server may put anything
 * there.
 */
const adviceByError: Readonly<Record<string, string>> = {
  invalid_request: "check scope, audience and authentication",
  invalid_client: "check client_id, client_secret and authentication (basic or body)",
  invalid_grant: "check that the client may use client credentials",
  unauthorized_client: "allow the grant client_credentials for this client",
  unsupported_grant_type: "the server must support the grant client_credentials",
  invalid_scope: "check scope",
};

/** Bodies are never quoted: a server may echo the request, which contains the client secret. */
export function readTokenAnswer(result: TransportResult): TokenAnswer {
  const { observation } = result;
  if (observation.kind === "failure") {
    const detail = `the token URL could not be reached: ${result.errorMessage ?? observation.category}`;
    const { shortage } = result;
    // The fault is on our side: it must not be attributed to the receiver or its token URL.
    if (result.malformed === true) throw new Error("the request for an access token could not be built");
    return shortage === undefined ? failed(detail) : { kind: "failed", detail, shortage };
  }
  const { status } = observation;
  if (!observation.complete) return failed(`the response of the token URL (status ${status}) was truncated`);
  if (status >= 300 && status < 400) {
    return failed(`the token URL responded with ${status}; redirects are not followed, so set the final URL`);
  }
  const members = membersOf(result.responseSample);
  if (status < 200 || status >= 300) return failed(refusalOf(status, members?.["error"]));
  if (members === null) return failed(unreadable(result.responseSample));
  return grantOf(members);
}

function grantOf(members: Readonly<Record<string, unknown>>): TokenAnswer {
  const { access_token: accessToken, token_type: tokenType, expires_in: expiresIn } = members;
  if (typeof accessToken !== "string" || accessToken === "") {
    return failed("the response of the token URL has no access_token");
  }
  if (accessToken.length > tokenLengthMax || !/^[\x21-\x7e]+$/.test(accessToken)) {
    return failed("the access_token does not fit into a header");
  }
  const isBearer = typeof tokenType === "string" && tokenType.toLowerCase() === "bearer";
  if (tokenType !== undefined && !isBearer) {
    return failed("the token URL responded with a token_type other than Bearer");
  }
  return { kind: "granted", accessToken, lifetimeMs: lifetimeMsOf(expiresIn) };
}

/** Some servers send the number as a string, and some send the expiry as a Unix timestamp in seconds. */
function lifetimeMsOf(expiresIn: unknown): number {
  const seconds = typeof expiresIn === "string" ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== "number" || !(seconds > 0) || seconds >= unixSecondsMin) return defaultLifetimeMs;
  return Math.min(seconds * 1000, lifetimeMsMax);
}

function refusalOf(status: number, error: unknown): string {
  const known = typeof error === "string" && Object.hasOwn(adviceByError, error);
  if (known) return `the token URL responded with ${status} ${error}: ${adviceByError[error] ?? ""}`;
  if (status === 401 || status === 403)
    return `the token URL responded with ${status}: check client_id and client_secret`;
  return `the token URL responded with ${status}: check that it is the token endpoint`;
}

function unreadable(body: Uint8Array | null): string {
  const tooLong = (body?.length ?? 0) >= responseBodyBytesMaxAllowed;
  return tooLong
    ? `the response of the token URL is longer than ${responseBodyBytesMaxAllowed} bytes`
    : "the response of the token URL is not a JSON object: check that it is the token endpoint";
}

function membersOf(body: Uint8Array | null): Readonly<Record<string, unknown>> | null {
  if (body === null) return null;
  const value = tryParseJson(new TextDecoder().decode(body));
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : null;
}

function failed(detail: string): TokenAnswer {
  return { kind: "failed", detail };
}
