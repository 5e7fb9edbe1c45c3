/**
 * How often callers may call (WDS-5): a token bucket for each API key and one for each tenant, publishing and all other calls
 * apart, and one for each address that presents keys nobody has. Asked before a body is read.
 *
 * A call costs one token, a batch of events too: what it may hold is bounded elsewhere. Administrators have no limit.
 */
import { PosthornError } from "../core/errors.ts";
import { clientNetwork } from "../core/http/client-network.ts";
import { createBucket, peekWaitMs, tryTakeAll } from "../core/rate-limit.ts";
import type { RateBucket } from "../core/rate-limit.ts";
import type { Principal } from "../services/services.ts";
import type { Clock } from "../ports/clock.ts";
import type { Metrics } from "../ports/telemetry.ts";
import type { Route } from "./route.ts";

/** Per minute; 0 is no limit. A bucket holds the calls of a whole minute, which may come at once. */
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

/** The header fields of an answer, whatever it becomes. */
export interface AnswerFields {
  setHeader(name: string, value: string): unknown;
}

export const unknownKeysPerMinute = 600;
const wrongLoginsPerMinute = 5;
/** Many customers may sit behind one address, and a code has 256 bits. */
const wrongCodesPerMinute = 60;
/** Addresses are many where somebody wants them to be; those beyond share one bucket. */
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
        what: "publishing of this tenant",
      },
    ]);
    this.#others = new LimitList([
      { name: "key", perMinute: callRates.keyCallsPerMinute, what: "calls with this API key" },
      { name: "tenant", perMinute: callRates.tenantCallsPerMinute, what: "calls of this tenant" },
    ]);
    this.#customers = new LimitList([
      { name: "portal_session", perMinute: 1_200, burst: 60, what: "calls of this portal session" },
    ]);
    this.#customerTests = new LimitList([
      { name: "portal_tests", perMinute: 10, what: "tests of this portal session" },
    ]);
    this.#unknownKeys = new LimitList([
      {
        name: "unknown_key",
        perMinute: unknownKeysPerMinute,
        what: "keys that are not valid",
        bucketsMax: addressesMax,
      },
    ]);
    this.#wrongCodes = new LimitList([
      {
        name: "wrong_portal_code",
        perMinute: wrongCodesPerMinute,
        what: "codes that open no session",
        bucketsMax: addressesMax,
      },
    ]);
    this.#wrongLogins = new LimitList([
      {
        name: "wrong_login",
        perMinute: wrongLoginsPerMinute,
        what: "wrong logins",
        bucketsMax: addressesMax,
      },
    ]);
  }

  /** Counts a call and tells in its answer what is left. Throws `rate_limited`, and counts nothing, beyond a limit. */
  count(
    principal: Principal,
    call: Pick<Route, "access" | "isTest"> & { readonly answer: AnswerFields },
  ): void {
    const { keyId, role, tenantId } = principal;
    if (role === "session") {
      const own = { ids: [keyId], answer: call.answer };
      this.#take(this.#customers, { ...own, tellsAlways: true });
      if (call.isTest === true) this.#take(this.#customerTests, { ...own, tellsAlways: false });
      return;
    }
    if (role === "admin" || tenantId === null) return;
    const list = call.access === "publish" ? this.#publishing : this.#others;
    this.#take(list, { ids: [keyId, tenantId], answer: call.answer, tellsAlways: true });
  }

  /**
   * Counts a call without a valid key. Those with one are never refused for what others at their address do: behind a
   * proxy that is everybody.
   */
  countUnknown(address: string, answer: AnswerFields): void {
    this.#take(this.#unknownKeys, { ids: [clientNetwork(address)], answer, tellsAlways: false });
  }

  /** Counts a wrong login to the dashboard, of which an address gets a few; a right one is never refused. */
  countWrongLogin(address: string, answer: AnswerFields): void {
    this.#take(this.#wrongLogins, { ids: [clientNetwork(address)], answer, tellsAlways: false });
  }

  /** Counts a code that opens no portal session. */
  countWrongCode(address: string, answer: AnswerFields): void {
    this.#take(this.#wrongCodes, { ids: [clientNetwork(address)], answer, tellsAlways: false });
  }

  #take(
    list: LimitList,
    call: { readonly ids: readonly string[]; readonly answer: AnswerFields; readonly tellsAlways: boolean },
  ): void {
    if (list.limits.length === 0) return;
    const now = this.#clock.monotonicMs();
    const buckets = list.limits.map((limit) => limit.bucketOf(call.ids[limit.place] as string, now));
    const waitMs = tryTakeAll(buckets, now);
    if (waitMs === 0 && !call.tellsAlways) return;
    call.answer.setHeader("RateLimit-Policy", list.policy);
    call.answer.setHeader("RateLimit", list.stateOf(buckets, now));
    if (waitMs === 0) return;
    const reached = list.limits[buckets.findIndex((bucket) => peekWaitMs(bucket, now) === waitMs)] as Limit;
    this.#metrics.apiCallLimited(reached.name);
    const { what, perMinute } = reached;
    throw new PosthornError("rate_limited", `There is a limit on ${what}: ${perMinute} a minute.`, {
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
    });
  }
}

interface LimitInput {
  readonly name: string;
  readonly perMinute: number;
  /** How many may come at once; those of a minute when left out. */
  readonly burst?: number;
  /** For people. */
  readonly what: string;
  /** More than these share one bucket. */
  readonly bucketsMax?: number;
}

/** The limits that hold for one call, with what the fields of draft-ietf-httpapi-ratelimit-headers say of them. */
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

/** Its buckets, which are forgotten when they are full again. */
class Limit {
  readonly name: string;
  readonly perMinute: number;
  readonly what: string;
  readonly #burst: number;
  /** Which of the ids of a call it counts by. */
  readonly place: number;
  readonly #bucketsMax: number;
  readonly #buckets = new Map<string, RateBucket>();
  #crowd: RateBucket | null = null;
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
    // Only here can there be more of them.
    if (now - this.#sweptAt >= sweepEveryMs) this.#sweep(now);
    if (this.#buckets.size >= this.#bucketsMax) return (this.#crowd ??= this.#createBucket());
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
