import { createHash } from "node:crypto";
import { tryParseJson } from "../../domain/json/json-text.ts";
import type { OAuth2Client, Webhook } from "../../domain/webhook.ts";
import type { Clock } from "../../ports/clock.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { SecretKind, StoredSecret } from "../../ports/store/webhooks.ts";
import {
  type ClientCertificate,
  type OutboundRequest,
  responseBodyBytesMaxAllowed,
  type Shortage,
  type Transport,
  type TransportResult,
} from "../../ports/transport.ts";

/** An access token, or why there is none: one sentence without secrets that says what to fix. */
export type AccessToken = { readonly kind: "token"; readonly accessToken: string } | FailedToken;

interface FailedToken {
  readonly kind: "failed";
  readonly detail: string;
  readonly shortage?: Shortage;
}

/** The access tokens of one webhook. Returns a valid token synchronously, so that an attempt does not wait. */
export interface AccessTokens {
  token(): AccessToken | Promise<AccessToken>;
  /**
   * Called when the receiver rejected this token with 401. Returns true if the delivery may be sent again immediately
   * with a new token, which is allowed once per delivery (EDS-9.2.3-3).
   */
  rejected(accessToken: string, deliveryId: string): boolean;
}

/** An OAuth 2.0 client with its secret; kept in memory only. */
export interface OAuth2Credentials extends OAuth2Client {
  readonly clientSecret: string;
}

/** The validated response of a token endpoint. */
type TokenAnswer =
  | { readonly kind: "granted"; readonly accessToken: string; readonly lifetimeMs: number }
  | FailedToken;

/** Assumed lifetime if a response contains no `expires_in`. RFC 6749 (5.1) only recommends that field. */
const defaultLifetimeMs = 5 * 60_000;
/** Maximum lifetime of a token. */
const lifetimeMsMax = 24 * 60 * 60_000;
/** As a lifetime, this would be more than thirty years, so the value must be a timestamp. */
const unixSecondsMin = 1e9;
/** Maximum length of an access token. Such a token fits into a request header that most receivers accept. */
const tokenLengthMax = 8 * 1024;

/**
 * Error codes of RFC 6749, 5.2, with advice for the owner. Other codes are not shown, because a server may return any
 * text as a code.
 */
const adviceByError: Readonly<Record<string, string>> = {
  invalid_request: "check scope, audience and authentication",
  invalid_client: "check client_id, client_secret and authentication (basic or body)",
  invalid_grant: "check that the client may use client credentials",
  unauthorized_client: "allow the grant client_credentials for this client",
  unsupported_grant_type: "the server must support the grant client_credentials",
  invalid_scope: "check scope",
};

/**
 * Validates the response of a token endpoint. Never quotes its body: a server may echo the request, which contains the
 * client secret.
 */
function readTokenAnswer(result: TransportResult): TokenAnswer {
  const { observation } = result;
  if (observation.kind === "failure") {
    const detail = `the token URL could not be reached: ${result.errorMessage ?? observation.category}`;
    const { shortage } = result;
    // The request itself was invalid. This is a bug in this program, so it must not be attributed to the receiver or
    // its token URL.
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

const requestTimeoutMs = 10_000;
/** A token is renewed this long before it expires, or in the last quarter of a short lifetime. */
const renewBeforeMsMax = 60_000;
/** Cache time of a failure, so that waiting deliveries do not all retry at the same time. */
const failureKeptMs = 5_000;
/** Maximum number of remembered deliveries that have used their one resend; the oldest are evicted. */
const resentMax = 1_000;

/**
 * OAuth 2.0 client credentials (RFC 6749, 4.4): fetches tokens, caches the current one, and shares one request between
 * all waiting callers. A change of credentials requires a new instance.
 */
export class OAuth2Tokens implements AccessTokens {
  readonly #transport: Pick<Transport, "send">;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #credentials: OAuth2Credentials;
  readonly #resent = new Set<string>();
  #kept: AccessToken | null = null;
  /** On the monotonic clock. */
  #keptUntilMs = 0;
  #fetching: Promise<AccessToken> | null = null;

  /** The owner chooses token URLs, like webhook URLs, so `transport` must have the same egress guard. */
  constructor(
    transport: Pick<Transport, "send">,
    clock: Pick<Clock, "monotonicMs">,
    credentials: OAuth2Credentials,
  ) {
    this.#transport = transport;
    this.#clock = clock;
    this.#credentials = credentials;
  }

  token(): AccessToken | Promise<AccessToken> {
    const kept = this.#kept;
    if (kept !== null && this.#clock.monotonicMs() < this.#keptUntilMs) return kept;
    this.#fetching ??= this.#fetch();
    return this.#fetching;
  }

  /** If the token was already replaced, no new one is requested. */
  rejected(accessToken: string, deliveryId: string): boolean {
    if (this.#kept?.kind === "token" && this.#kept.accessToken === accessToken) this.#kept = null;
    if (this.#resent.has(deliveryId)) return false;
    this.#resent.add(deliveryId);
    const oldest = this.#resent.values().next();
    if (this.#resent.size > resentMax && oldest.done !== true) this.#resent.delete(oldest.value);
    return true;
  }

  async #fetch(): Promise<AccessToken> {
    try {
      const result = await this.#transport.send(tokenRequest(this.#credentials));
      return this.#keep(readTokenAnswer(result));
    } finally {
      this.#fetching = null;
    }
  }

  #keep(answer: TokenAnswer): AccessToken {
    const granted = answer.kind === "granted";
    this.#keptUntilMs = this.#clock.monotonicMs() + keptMsOf(answer);
    this.#kept = granted ? { kind: "token", accessToken: answer.accessToken } : answer;
    return this.#kept;
  }
}

function keptMsOf(answer: TokenAnswer): number {
  if (answer.kind === "granted") return answer.lifetimeMs - Math.min(renewBeforeMsMax, answer.lifetimeMs / 4);
  // The token URL was not contacted.
  return answer.shortage === undefined ? failureKeptMs : 0;
}

function tokenRequest(credentials: OAuth2Credentials): OutboundRequest {
  const { clientId, clientSecret, scope, audience, authentication } = credentials;
  const url = new URL(credentials.tokenUrl);
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  if (scope !== null) form.set("scope", scope);
  if (audience !== null) form.set("audience", audience);
  const headers = ["Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json"];
  if (authentication === "basic") headers.push("Authorization", basic(clientId, clientSecret));
  else {
    form.set("client_id", clientId);
    form.set("client_secret", clientSecret);
  }
  return {
    method: "POST",
    origin: url.origin,
    path: url.pathname + url.search,
    headers,
    body: Buffer.from(form.toString()),
    timeoutMs: requestTimeoutMs,
    http2: false,
    clientCertificate: null,
    responseBodyBytesMax: responseBodyBytesMaxAllowed,
  };
}

/** RFC 6749, 2.3.1: both parts are form-encoded first, so that a colon in the ID is unambiguous. */
function basic(clientId: string, clientSecret: string): string {
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

function formEncoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

/**
 * The credentials that a webhook sends in addition to signatures: tokens, credential headers and a client certificate.
 */
export class StoredCredentials {
  readonly #webhook: Webhook;
  readonly #secrets: readonly StoredSecret[];
  readonly #secretBox: SecretBox;

  constructor(webhook: Webhook, secrets: readonly StoredSecret[], secretBox: SecretBox) {
    this.#webhook = webhook;
    this.#secrets = secrets;
    this.#secretBox = secretBox;
  }

  /** Flat name-value list of the headers that are the same in every attempt. */
  headers(): readonly string[] {
    const headers: string[] = [];
    const token = this.#open("bearer");
    if (token !== null && this.#webhook.bearerTokenIn === "header")
      headers.push("Authorization", `Bearer ${token}`);
    // A response for a URL that contains a token must not be cached (CEW-3.2-3).
    if (token !== null && this.#webhook.bearerTokenIn === "query") headers.push("Cache-Control", "no-store");
    headers.push(...Object.entries(this.#credentialHeaders()).flat());
    for (const [name, value] of Object.entries(this.#webhook.headers)) headers.push(name, value);
    return headers;
  }

  /** Lowercase names of the headers whose values must be masked. */
  headerNames(): readonly string[] {
    return ["authorization", ...Object.keys(this.#credentialHeaders()).map((name) => name.toLowerCase())];
  }

  /** Secrets to mask in everything that a receiver returns. */
  shownSecrets(): readonly string[] {
    const token = this.#open("bearer");
    const values = Object.values(this.#credentialHeaders());
    // The receiver may repeat only the last part of "Bearer abc" or "ApiKey abc".
    const parts = values.flatMap((value) => [value, value.slice(value.lastIndexOf(" ") + 1)]);
    return token === null ? parts : [token, ...parts];
  }

  /** Path and query. The token is the first parameter, and the URL's own parameters are unchanged (CEW-3.2-2). */
  pathOf(url: URL): string {
    const token = this.#webhook.bearerTokenIn === "query" ? this.#open("bearer") : null;
    if (token === null) return url.pathname + url.search;
    const rest = url.search === "" ? "" : `&${url.search.slice(1)}`;
    return `${url.pathname}?access_token=${encodeURIComponent(token)}${rest}`;
  }

  clientCertificate(): ClientCertificate | null {
    const text = this.#open("client_certificate");
    if (text === null) return null;
    const { certificatePem, privateKeyPem } = JSON.parse(text) as Omit<ClientCertificate, "id">;
    const version = createHash("sha256").update(text).digest("base64url").slice(0, 16);
    return { id: `${this.#webhook.id}:${version}`, certificatePem, privateKeyPem };
  }

  oauth2(): OAuth2Credentials | null {
    const { oauth2 } = this.#webhook;
    const clientSecret = this.#open("oauth2_client_secret");
    return oauth2 === null || clientSecret === null ? null : { ...oauth2, clientSecret };
  }

  #credentialHeaders(): Readonly<Record<string, string>> {
    return JSON.parse(this.#open("credential_headers") ?? "{}") as Record<string, string>;
  }

  #open(kind: SecretKind): string | null {
    const secret = this.#secrets.find((candidate) => candidate.kind === kind);
    if (secret === undefined) return null;
    return this.#secretBox.open(secret.ciphertext, this.#webhook.id);
  }
}
