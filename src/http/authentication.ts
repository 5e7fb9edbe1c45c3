import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { PosthornError } from "../domain/errors.ts";
import { clientNetwork } from "../domain/http/network.ts";
import { createBucket, peekWaitMs, type RateBucket, tryTakeAll } from "../domain/rate-limit.ts";
import { portalTokenPrefix } from "../features/portal/portal-sessions.ts";
import type { ApiKeyService, PortalSessionService, Principal } from "../features/services.ts";
import type { Clock } from "../ports/clock.ts";
import type { Metrics } from "../ports/telemetry.ts";
import type { ApiOptions } from "./context.ts";
import type { Access, Route } from "./route.ts";
import {
  isOwnCall,
  ownHeader,
  readSessionCookie,
  type Session,
  sessionCookie,
  type Sessions,
} from "./dashboard-sessions.ts";

/** `publish` keys cannot read, and `read` keys cannot write. A leaked publisher key therefore reveals no events. */
const rolesOf: Readonly<Record<Exclude<Access, "public">, ReadonlySet<Principal["role"]>>> = {
  any: new Set(["admin", "manage", "publish", "read"]),
  read: new Set(["admin", "manage", "read"]),
  publish: new Set(["admin", "manage", "publish"]),
  manage: new Set(["admin", "manage"]),
  admin: new Set(["admin"]),
  session: new Set(["session"]),
};

export function rolesFor(access: Access): readonly Principal["role"][] {
  return access === "public" ? [] : [...rolesOf[access]];
}

export class UnauthenticatedError extends PosthornError {
  override readonly name = "UnauthenticatedError";
  /** RFC 6750, section 3: the error code is sent only if the caller presented credentials. */
  readonly challenge: string;
  constructor(detail: string, challenge: string) {
    super("unauthenticated", detail);
    this.challenge = challenge;
  }
}

/** The principal of a call and, if the call was made without a key, its dashboard session. */
export interface Caller {
  readonly principal: Principal;
  readonly session: Session | null;
}

/**
 * Authenticates by the key in the `Authorization` header. Without one, authenticates by the dashboard session; mutating
 * calls with a session must come from the dashboard. Throws UnauthenticatedError, or `forbidden` for a cross-site call.
 */
export function authenticate(
  method: string,
  headers: IncomingHttpHeaders,
  apiKeys: ApiKeyService,
  sessions: Sessions | null,
): Caller {
  const token =
    headers.authorization === undefined && sessions !== null
      ? readSessionCookie(headers, sessions.cookieId)
      : null;
  const found = token === null ? null : (sessions?.find(token) ?? null);
  if (found !== null) {
    if (!isOwnCall(method, headers)) throw foreignCall();
    return found;
  }
  return { principal: holderOfKey(headers.authorization, apiKeys), session: null };
}

/** The portal session token in an `Authorization` header; null if there is none. */
export function portalToken(headers: IncomingHttpHeaders): string | null {
  const presented = bearerToken(headers.authorization);
  return presented?.startsWith(portalTokenPrefix) === true ? presented : null;
}

/** Returns the customer with this token. Rejects with UnauthenticatedError if the token is not valid. */
export async function authenticateCustomer(
  token: string,
  portalSessions: Pick<PortalSessionService, "holderOf">,
): Promise<Caller> {
  const principal = await portalSessions.holderOf(token);
  if (principal !== null) return { principal, session: null };
  throw new UnauthenticatedError(
    "The portal session is unknown, expired or revoked.",
    'Bearer realm="posthorn", error="invalid_token"',
  );
}

export function foreignCall(): PosthornError {
  return new PosthornError(
    "forbidden",
    "With a session, only the dashboard can make calls that change something. Use an API key.",
  );
}

function holderOfKey(header: string | undefined, apiKeys: ApiKeyService): Principal {
  const presented = bearerToken(header);
  if (presented === null) {
    throw new UnauthenticatedError(
      'Send "Authorization: Bearer KEY" with an API key.',
      'Bearer realm="posthorn"',
    );
  }
  const principal = apiKeys.authenticate(presented);
  if (principal === null) {
    throw new UnauthenticatedError(
      "The API key is unknown, expired or revoked.",
      'Bearer realm="posthorn", error="invalid_token"',
    );
  }
  return principal;
}

/** Throws `forbidden` if the role of the key or the capabilities of the session do not suffice. */
export function authorize(principal: Principal, route: Pick<Route, "access" | "capability">): void {
  const { access, capability } = route;
  const { role, portal } = principal;
  if (access === "public") return;
  if (portal !== undefined && access !== "session") {
    if (capability === "any") return;
    if (capability === undefined) throw new PosthornError("forbidden", "A portal session cannot do this.");
    if (portal.capabilities.has(capability)) return;
    throw new PosthornError("forbidden", `This portal session lacks the capability "${capability}".`);
  }
  const roles = rolesOf[access];
  if (roles.has(role)) return;
  if (access === "session") throw new PosthornError("forbidden", "Only portal sessions can call this.");
  const wanted = [...roles].join(" or ");
  throw new PosthornError(
    "forbidden",
    `A key with the role "${role}" cannot do this; it requires ${wanted}.`,
  );
}

const keyLengthMax = 512;

/** The key in an `Authorization` header; null if there is none. */
export function bearerToken(header: string | undefined): string | null {
  if (header === undefined || header.length > keyLengthMax) return null;
  if (header.startsWith("Bearer ")) return header.slice(7).trim() || null;
  const match = /^bearer +(\S+)\s*$/i.exec(header);
  return match?.[1] ?? null;
}

/** Runs before the body is read, so that callers without a key cannot make the server buffer one. */
export function createAuthenticationHook(
  route: Route,
  parts: Pick<ApiOptions, "services" | "dashboard"> & { readonly callLimits: CallLimits },
) {
  const { services, callLimits, dashboard } = parts;
  const { access, isTest } = route;
  const sessions = dashboard?.sessions ?? null;
  return (request: FastifyRequest, { raw: answer }: FastifyReply, done: (error?: Error) => void): void => {
    const refuse = (error: unknown): never => {
      if (error instanceof UnauthenticatedError) {
        callLimits.countUnknown(request.socket.remoteAddress ?? "", answer);
      }
      throw error;
    };
    const admit = ({ principal, session }: Caller): void => {
      if (session !== null) keepSession(session, request, answer, sessions);
      callLimits.count(principal, { access, ...(isTest !== undefined && { isTest }), answer });
      authorize(principal, route);
      request.principal = principal;
      request.dashboardSession = session;
    };
    const token = portalToken(request.headers);
    if (token === null) {
      let caller: Caller;
      try {
        const { method, headers } = request.raw as RequestHead;
        caller = authenticate(method, headers, services.apiKeys, sessions);
      } catch (error) {
        return refuse(error);
      }
      admit(caller);
      return done();
    }
    answer.setHeader("cache-control", "no-store");
    authenticateCustomer(token, services.portalSessions)
      .catch(refuse)
      .then(admit)
      .then(
        () => done(),
        (error: unknown) => done(error as Error),
      );
  };
}

type RequestHead = IncomingMessage & { readonly method: string };

/** Responses to a session are never cached, and a person's calls extend the session. */
function keepSession(
  session: Session,
  request: FastifyRequest,
  answer: ServerResponse,
  sessions: Sessions | null,
): void {
  answer.setHeader("cache-control", "no-store");
  if (request.headers[ownHeader] === "poll") return;
  const renewed = sessions?.renewed(session) ?? null;
  if (renewed === null || sessions === null) return;
  answer.setHeader("set-cookie", sessionCookie(request.headers, sessions.cookieOf(renewed)));
}

/**
 * Rate limits for API calls (WDS-5). Each API key and each tenant has one token bucket for publishing and another for
 * all other calls. Each address that presents invalid keys also has a bucket. Limits are checked before the body is
 * read. Every call costs one token, including a batch of events, whose size is limited elsewhere. Administrators are
 * not limited.
 */

/** Calls per minute; 0 means unlimited. A bucket holds the calls of one minute, which may arrive in one burst. */
export interface CallRates {
  readonly keyCallsPerMinute: number;
  readonly tenantCallsPerMinute: number;
  readonly keyPublishesPerMinute: number;
  readonly tenantPublishesPerMinute: number;
}

export interface CallLimitsOptions {
  readonly callRates: CallRates;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly metrics: Pick<Metrics, "apiCallLimited">;
}

/** Response headers, set before the outcome of the call is known. */
export interface AnswerFields {
  setHeader(name: string, value: string): unknown;
}

export const unknownKeysPerMinute = 600;
const wrongLoginsPerMinute = 5;
/**
 * Higher than the limit for logins, because many customers may share one address, and a code of 256 bits cannot be
 * guessed.
 */
const wrongCodesPerMinute = 60;
/** Limits the memory that an attacker with many addresses can use; further addresses share one bucket. */
export const addressesMax = 10_000;

export class CallLimits {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #metrics: Pick<Metrics, "apiCallLimited">;
  readonly #publishing: LimitList;
  readonly #others: LimitList;
  readonly #customers: LimitList;
  readonly #customerTests: LimitList;
  readonly #unknownKeys: LimitList;
  readonly #wrongLogins: LimitList;
  readonly #wrongCodes: LimitList;

  constructor({ callRates, clock, metrics }: CallLimitsOptions) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#publishing = new LimitList([
      {
        name: "publish_key",
        perMinute: callRates.keyPublishesPerMinute,
        what: "publishing with this API key",
      },
      {
        name: "publish_tenant",
        perMinute: callRates.tenantPublishesPerMinute,
        what: "publishing for this tenant",
      },
    ]);
    this.#others = new LimitList([
      { name: "key", perMinute: callRates.keyCallsPerMinute, what: "calls with this API key" },
      { name: "tenant", perMinute: callRates.tenantCallsPerMinute, what: "calls for this tenant" },
    ]);
    this.#customers = new LimitList([
      { name: "portal_session", perMinute: 1_200, burst: 60, what: "calls in this portal session" },
    ]);
    this.#customerTests = new LimitList([
      { name: "portal_tests", perMinute: 10, what: "tests in this portal session" },
    ]);
    this.#unknownKeys = new LimitList([
      {
        name: "unknown_key",
        perMinute: unknownKeysPerMinute,
        what: "invalid keys",
        bucketsMax: addressesMax,
      },
    ]);
    this.#wrongCodes = new LimitList([
      {
        name: "wrong_portal_code",
        perMinute: wrongCodesPerMinute,
        what: "invalid portal codes",
        bucketsMax: addressesMax,
      },
    ]);
    this.#wrongLogins = new LimitList([
      {
        name: "wrong_login",
        perMinute: wrongLoginsPerMinute,
        what: "failed logins",
        bucketsMax: addressesMax,
      },
    ]);
  }

  /**
   * Counts a call and reports the remaining quota in its response headers. If a limit is exceeded, throws
   * `rate_limited` and does not count the call.
   */
  count(
    principal: Principal,
    call: Pick<Route, "access" | "isTest"> & { readonly answer: AnswerFields },
  ): void {
    const { keyId, role, tenantId } = principal;
    if (role === "session") {
      this.#take(this.#customers, [keyId], call.answer, true);
      if (call.isTest === true) this.#take(this.#customerTests, [keyId], call.answer);
      return;
    }
    if (role === "admin" || tenantId === null) return;
    const list = call.access === "publish" ? this.#publishing : this.#others;
    this.#take(list, [keyId, tenantId], call.answer, true);
  }

  /**
   * Counts a call without a valid key. Calls with a valid key are not limited by address, because all clients behind a
   * proxy share one.
   */
  countUnknown(address: string, answer: AnswerFields): void {
    this.#take(this.#unknownKeys, [clientNetwork(address)], answer);
  }

  /** Counts a failed dashboard login. Correct logins are never refused. */
  countWrongLogin(address: string, answer: AnswerFields): void {
    this.#take(this.#wrongLogins, [clientNetwork(address)], answer);
  }

  /** Counts an invalid portal code. */
  countWrongCode(address: string, answer: AnswerFields): void {
    this.#take(this.#wrongCodes, [clientNetwork(address)], answer);
  }

  /** Reports the quota only if `isReported` is set or the limit is exceeded. */
  #take(list: LimitList, ids: readonly string[], answer: AnswerFields, isReported = false): void {
    if (list.limits.length === 0) return;
    const now = this.#clock.monotonicMs();
    const buckets = list.limits.map((limit) => limit.bucketOf(ids[limit.place] as string, now));
    const waitMs = tryTakeAll(buckets, now);
    if (waitMs === 0 && !isReported) return;
    answer.setHeader("RateLimit-Policy", list.policy);
    answer.setHeader("RateLimit", list.stateOf(buckets, now));
    if (waitMs === 0) return;
    const reached = list.limits[buckets.findIndex((bucket) => peekWaitMs(bucket, now) === waitMs)] as Limit;
    this.#metrics.apiCallLimited(reached.name);
    const { what, perMinute } = reached;
    throw new PosthornError("rate_limited", `The limit on ${what} is ${perMinute} per minute.`, {
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
    });
  }
}

interface LimitInput {
  readonly name: string;
  readonly perMinute: number;
  /** Burst size. If omitted, it equals the number of calls per minute. */
  readonly burst?: number;
  /** Shown in error messages. */
  readonly what: string;
  /** If there are more ids than this, the additional ones share one bucket. */
  readonly bucketsMax?: number;
}

/** The limits for one call, rendered as defined by draft-ietf-httpapi-ratelimit-headers. */
class LimitList {
  readonly limits: readonly Limit[];
  readonly policy: string;

  constructor(inputs: readonly LimitInput[]) {
    this.limits = inputs
      .map((input, place) => new Limit(input, place))
      .filter(({ perMinute }) => perMinute > 0);
    this.policy = this.limits.map(({ name, perMinute }) => `"${name}";q=${perMinute};w=60`).join(", ");
  }

  stateOf(buckets: readonly RateBucket[], now: number): string {
    let text = "";
    for (const [index, { name }] of this.limits.entries()) {
      const bucket = buckets[index] as RateBucket;
      const usedMs = Math.max(0, bucket.fullAt - now);
      const left = Math.floor((bucket.toleranceMs + bucket.intervalMs - usedMs) / bucket.intervalMs);
      text += `${index === 0 ? "" : ", "}"${name}";r=${Math.max(0, left)};t=${Math.ceil(usedMs / 1_000)}`;
    }
    return text;
  }
}

const sweepEveryMs = 60_000;

/** One limit and its buckets. Full buckets are discarded. */
class Limit {
  readonly name: string;
  readonly perMinute: number;
  readonly what: string;
  readonly #burst: number;
  /** Index, among the ids of a call, of the id to which this limit applies. */
  readonly place: number;
  readonly #bucketsMax: number;
  readonly #buckets = new Map<string, RateBucket>();
  #overflow: RateBucket | null = null;
  #sweptAt = 0;

  constructor(
    { name, perMinute, burst = perMinute, what, bucketsMax = Infinity }: LimitInput,
    place: number,
  ) {
    this.#burst = burst;
    this.name = name;
    this.perMinute = perMinute;
    this.what = what;
    this.place = place;
    this.#bucketsMax = bucketsMax;
  }

  bucketOf(id: string, now: number): RateBucket {
    const known = this.#buckets.get(id);
    if (known !== undefined) return known;
    // The map grows only here, so it is swept here.
    if (now - this.#sweptAt >= sweepEveryMs) this.#sweep(now);
    if (this.#buckets.size >= this.#bucketsMax) return (this.#overflow ??= this.#createBucket());
    const bucket = this.#createBucket();
    this.#buckets.set(id, bucket);
    return bucket;
  }

  #createBucket(): RateBucket {
    return createBucket({ requestsPerMinute: this.perMinute, burst: this.#burst });
  }

  #sweep(now: number): void {
    this.#sweptAt = now;
    for (const [id, { fullAt }] of this.#buckets) if (fullAt <= now) this.#buckets.delete(id);
  }
}
