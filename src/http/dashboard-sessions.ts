import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isLoopbackHost } from "../domain/http/network.ts";
import type { ApiKeyService, Principal } from "../features/services.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import { type SecretBox, SecretUnreadableError } from "../ports/secret-box.ts";

/**
 * Detects calls from the dashboard's own pages. A browser attaches the session cookie to requests that other sites
 * cause, so the cookie alone does not authorise changes.
 */

/**
 * Sent by the dashboard with every call; `poll` marks calls that were not triggered by a person. Other sites cannot add
 * this header.
 */
export const ownHeader = "x-posthorn-ui";

const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** Whether a call with a session cookie is allowed. */
export function isOwnCall(method: string, headers: IncomingHttpHeaders): boolean {
  if (safeMethods.has(method)) return true;
  return headers[ownHeader] !== undefined && comesFrom(headers) === "here";
}

/**
 * Origin of the page that makes a call. Browsers send `Sec-Fetch-Site` over https and on localhost, and `Origin`
 * elsewhere. A proxy may change `Host`, so `Sec-Fetch-Site` takes precedence.
 */
export function comesFrom(headers: IncomingHttpHeaders): "here" | "elsewhere" | "unknown" {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin" ? "here" : "elsewhere";
  if (headers.origin === undefined) return "unknown";
  return URL.parse(headers.origin)?.host === headers.host ? "here" : "elsewhere";
}

// The cookie of a dashboard session.

/**
 * Cookies ignore ports and, with this prefix, paths, so two deployments on one host would overwrite each other's
 * cookie. The name therefore ends with the id of the deployment. Browsers accept the prefix `__Host-` only over https
 * and only from the host itself. Over http, which is allowed on the local machine, they reject cookies with the
 * `Secure` attribute.
 */
const secureName = (id: string): string => `__Host-posthorn-${id}`;
const loopbackName = (id: string): string => `posthorn-${id}`;
const headerLengthMax = 16_384;

/**
 * The session token in the cookies of a request; null if there is none. `id` is the deployment's `Sessions.cookieId`.
 */
export function readSessionCookie(headers: IncomingHttpHeaders, id: string): string | null {
  const { cookie } = headers;
  if (cookie === undefined || cookie.length > headerLengthMax) return null;
  const cookies = new Map(cookie.split(";").map((pair) => splitOnce(pair.trim())));
  return (
    cookies.get(secureName(id)) ?? (isOnLoopback(headers) ? cookies.get(loopbackName(id)) : undefined) ?? null
  );
}

interface SessionCookie {
  /** Id of the deployment. */
  readonly id: string;
  readonly token: string;
  readonly seconds: number;
}

/** `Set-Cookie` for a token; an empty token removes the cookie. */
export function sessionCookie(headers: IncomingHttpHeaders, { id, token, seconds }: SessionCookie): string {
  const isPlain = isOnLoopback(headers) && !isSecure(headers);
  const [name, secure] = isPlain ? [loopbackName(id), ""] : [secureName(id), "; Secure"];
  return `${name}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`;
}

/** Whether a browser would drop the cookie, because the dashboard is used over http on another machine. */
export function losesCookie(headers: IncomingHttpHeaders): boolean {
  return !isOnLoopback(headers) && headers.origin?.startsWith("http:") === true;
}

function isOnLoopback({ host }: IncomingHttpHeaders): boolean {
  return isLoopbackHost(URL.parse(`http://${host ?? ""}`)?.hostname ?? "");
}

function isSecure({ origin }: IncomingHttpHeaders): boolean {
  return origin?.startsWith("https:") === true;
}

function splitOnce(pair: string): [string, string] {
  const at = pair.indexOf("=");
  return at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
}

// Dashboard sessions. A session is a sealed token that contains the hash of the API key with which it was opened. Any
// process with the master key can read the token without querying the store. The session ends when its API key ends.
// Each process keeps a small amount of state in memory that it can afford to lose: one-time codes, which only the
// process that created them accepts, and sessions that were ended early.

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const sessionMsMax = 12 * 60 * minuteMs;
const idleMsMax = 60 * minuteMs;
/** Minimum interval between renewals of a cookie. */
const renewEveryMs = minuteMs;
const codeMsMax = 5 * minuteMs;
/** Maximum number of one-time codes and ended sessions in memory; the oldest are dropped first. */
const rememberedMax = 10_000;
const tokenLengthMax = 1_024;
const context = "dashboard session";

interface SessionsOptions {
  readonly secretBox: Pick<SecretBox, "seal" | "open" | "digest">;
  readonly apiKeys: Pick<ApiKeyService, "holderOf" | "hashOf">;
  readonly clock: Pick<Clock, "now">;
  readonly random: Pick<Random, "bytes">;
}

/** A dashboard login. */
export interface Session {
  readonly id: string;
  /** The result of `hashOf` for the API key. */
  readonly keyHash: string;
  /** Unix milliseconds. */
  readonly endsAt: number;
  /** End of the session without activity by a person, in Unix milliseconds. */
  readonly idleUntil: number;
}

export interface OpenSession {
  readonly session: Session;
  readonly principal: Principal;
}

export class Sessions {
  readonly #options: SessionsOptions;
  /** Hash of the API key, and expiry of its one-time code, keyed by code. */
  readonly #codes = new Map<string, { readonly keyHash: string; readonly endsAt: number }>();
  /** Ids of sessions that were ended early, until their regular expiry. */
  readonly #ended = new Map<string, number>();

  /** Suffix of the cookie name. It is equal in all processes of a deployment, and unique to the deployment. */
  readonly cookieId: string;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.cookieId = hash("sha256", options.secretBox.digest("dashboard cookie")).slice(0, 8);
  }

  /** Opens a session for an API key; null if the key is invalid. */
  login(key: string): OpenSession | null {
    return this.#open(this.#options.apiKeys.hashOf(key));
  }

  /** Opens a session for a one-time code, valid for five minutes; null if the code is invalid. */
  redeem(code: string): OpenSession | null {
    const found = this.#codes.get(code);
    if (found === undefined) return null;
    this.#codes.delete(code);
    return found.endsAt > this.#options.clock.now() ? this.#open(found.keyHash) : null;
  }

  /** Creates a one-time code that opens a session with the key. */
  createCode(key: string): { readonly code: string; readonly endsAt: number } {
    const { clock, random, apiKeys } = this.#options;
    const now = clock.now();
    forget(this.#codes, ({ endsAt }) => endsAt <= now);
    const code = Buffer.from(random.bytes(32)).toString("base64url");
    const endsAt = now + codeMsMax;
    this.#codes.set(code, { keyHash: apiKeys.hashOf(key), endsAt });
    return { code, endsAt };
  }

  /**
   * The session of a token and its principal; null if the session has ended or is unknown, or its key no longer exists.
   */
  find(token: string): OpenSession | null {
    const session = this.#read(token);
    if (session === null || this.#ended.has(session.id)) return null;
    const now = this.#options.clock.now();
    if (session.endsAt <= now || session.idleUntil <= now) return null;
    const principal = this.#options.apiKeys.holderOf(session.keyHash);
    return principal === null ? null : { session, principal };
  }

  /**
   * Returns the session, extended by an hour because of activity by a person; null if the session was renewed recently.
   */
  renewed(session: Session): Session | null {
    const idleUntil = Math.min(session.endsAt, this.#options.clock.now() + idleMsMax);
    return idleUntil - session.idleUntil < renewEveryMs ? null : { ...session, idleUntil };
  }

  end({ id, endsAt }: Session): void {
    const now = this.#options.clock.now();
    forget(this.#ended, (until) => until <= now);
    this.#ended.set(id, endsAt);
  }

  /** The content and lifetime of the cookie. */
  cookieOf({ id, keyHash, endsAt, idleUntil }: Session): SessionCookie {
    const plaintext = JSON.stringify([id, keyHash, endsAt, idleUntil]);
    const token = Buffer.from(this.#options.secretBox.seal(plaintext, context)).toString("base64url");
    const seconds = Math.max(0, Math.floor((endsAt - this.#options.clock.now()) / secondMs));
    return { id: this.cookieId, token, seconds };
  }

  #open(keyHash: string): OpenSession | null {
    const { clock, random, apiKeys } = this.#options;
    const principal = apiKeys.holderOf(keyHash);
    if (principal === null) return null;
    const now = clock.now();
    const id = Buffer.from(random.bytes(16)).toString("base64url");
    const session = { id, keyHash, endsAt: now + sessionMsMax, idleUntil: now + idleMsMax };
    return { principal, session };
  }

  #read(token: string): Session | null {
    if (token === "" || token.length > tokenLengthMax) return null;
    try {
      const ciphertext = Buffer.from(token, "base64url");
      const text = this.#options.secretBox.open(ciphertext, context);
      const [id, keyHash, endsAt, idleUntil] = JSON.parse(text) as [string, string, number, number];
      return { id, keyHash, endsAt, idleUntil };
    } catch (error) {
      if (error instanceof SecretUnreadableError) return null;
      throw error;
    }
  }
}

function forget<Value>(map: Map<string, Value>, isOver: (value: Value) => boolean): void {
  for (const [key, value] of map) {
    if (map.size >= rememberedMax || isOver(value)) map.delete(key);
  }
}
