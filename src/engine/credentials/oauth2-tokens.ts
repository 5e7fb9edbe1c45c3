import type { Clock } from "../../ports/clock.ts";
import { responseBodyBytesMaxAllowed } from "../../ports/transport.ts";
import type { OutboundRequest, Transport } from "../../ports/transport.ts";
import type { AccessToken, AccessTokens } from "./access-tokens.ts";
import type { OAuth2Credentials } from "./stored-credentials.ts";
import { readTokenAnswer } from "./token-answer.ts";
import type { TokenAnswer } from "./token-answer.ts";

export interface OAuth2TokensParts {
  readonly credentials: OAuth2Credentials;
  /** The owner chooses token URLs, like webhook URLs, so they pass the same egress guard. */
  readonly transport: Pick<Transport, "send">;
  readonly clock: Pick<Clock, "monotonicMs">;
}

const requestTimeoutMs = 10_000;
/** A token is renewed this long before it expires, or in the last quarter of a short life. */
const renewBeforeMsMax = 60_000;
/** Cache time of a failure, so that waiting deliveries do not all retry at once. */
const failureKeptMs = 5_000;
/** Deliveries that had their one resend; the oldest are evicted. */
const resentMax = 1_000;

/**
 * OAuth 2.0 client credentials (RFC 6749, 4.4): fetches tokens, caches the current one, and shares one request
 * between all waiting callers. A change of the credentials requires a new instance.
 */
export class OAuth2Tokens implements AccessTokens {
  readonly #parts: OAuth2TokensParts;
  readonly #resent = new Set<string>();
  #kept: AccessToken | null = null;
  /** On the monotonic clock. */
  #keptUntilMs = 0;
  #fetching: Promise<AccessToken> | null = null;

  constructor(parts: OAuth2TokensParts) {
    this.#parts = parts;
  }

  token(): AccessToken | Promise<AccessToken> {
    const kept = this.#kept;
    if (kept !== null && this.#parts.clock.monotonicMs() < this.#keptUntilMs) return kept;
    this.#fetching ??= this.#fetch();
    return this.#fetching;
  }

  /** If the token was already replaced, no new one is fetched. */
  rejected({
    accessToken,
    deliveryId,
  }: {
    readonly accessToken: string;
    readonly deliveryId: string;
  }): boolean {
    if (this.#kept?.kind === "token" && this.#kept.accessToken === accessToken) this.#kept = null;
    if (this.#resent.has(deliveryId)) return false;
    this.#resent.add(deliveryId);
    const oldest = this.#resent.values().next();
    if (this.#resent.size > resentMax && oldest.done !== true) this.#resent.delete(oldest.value);
    return true;
  }

  async #fetch(): Promise<AccessToken> {
    try {
      const result = await this.#parts.transport.send(tokenRequest(this.#parts.credentials));
      return this.#keep(readTokenAnswer(result));
    } finally {
      this.#fetching = null;
    }
  }

  #keep(answer: TokenAnswer): AccessToken {
    const granted = answer.kind === "granted";
    this.#keptUntilMs = this.#parts.clock.monotonicMs() + keptMsOf(answer);
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
