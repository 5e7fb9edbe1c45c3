import { judgeUrl, type UrlRefusalCode } from "../../domain/egress/url-policy.ts";
import { PosthornError } from "../../domain/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import { isVisible, seesWebhook } from "../visibility.ts";
import type { FeatureContext, Scope } from "../services.ts";

/**
 * Whether the URL is valid for a webhook. A valid result says nothing about the addresses to which its host name
 * resolves.
 */
interface UrlCheck {
  readonly code: UrlRefusalCode | null;
  /** An explanation that does not repeat the URL; null if it is valid. */
  readonly detail: string | null;
  /** Another webhook of the same tenant that has this URL. */
  readonly duplicateOf: string | null;
}

/** Validates a URL before anything is saved, for example while it is typed into a form. */
export class UrlChecks {
  readonly #context: FeatureContext;

  constructor(context: FeatureContext) {
    this.#context = context;
  }

  check(scope: Scope, text: string): UrlCheck {
    const { access, urlRules } = this.#context;
    const judgement = judgeUrl(text, urlRules);
    if (judgement.kind === "refused") {
      const { code, detail } = judgement;
      return { code, detail, duplicateOf: null };
    }
    const { url } = judgement;
    const duplicate = Iterator.from(access.webhooks()).find(
      ({ webhook }) =>
        webhook.url === url && isVisible(scope, webhook.tenantId) && seesWebhook(scope, webhook.id),
    );
    return { code: null, detail: null, duplicateOf: duplicate?.webhook.id ?? null };
  }
}

/** Maximum number of concurrent calls, and of calls started per minute. */
interface CallBounds {
  readonly atOnce: number;
  readonly perMinute: number;
}

interface OutsideCallLimits {
  /** Limits of this process. */
  readonly all: CallBounds;
  readonly tenant: CallBounds;
  /** Applies across all tenants, because several tenants may share a receiver. */
  readonly host: CallBounds;
}

interface OutsideCall {
  readonly tenantId: string;
  readonly host: string;
  readonly startedMs: number;
  isRunning: boolean;
}

const minuteMs = 60_000;
/** Value of Retry-After, in seconds, if a running call must end first. */
const busyRetrySeconds = 5;

/**
 * Limits requests to receivers that API calls cause directly, outside the engine and its limits. Calls that exceed a
 * limit are refused, because a queue would occupy the callers' connections.
 */
export class OutsideCalls {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #limits: OutsideCallLimits;
  /** Calls that are running or started within the last minute; bounded by the limits of the process. */
  #calls: OutsideCall[] = [];

  constructor(clock: Pick<Clock, "monotonicMs">, limits: OutsideCallLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Runs a call within the limits. Throws `rate_limited` if a limit is exceeded. */
  async run<Result>(tenantId: string, url: string, work: () => Promise<Result>): Promise<Result> {
    const call = this.#begin(tenantId, new URL(url).hostname);
    try {
      return await work();
    } finally {
      call.isRunning = false;
    }
  }

  #begin(tenantId: string, host: string): OutsideCall {
    const now = this.#clock.monotonicMs();
    this.#calls = this.#calls.filter((call) => call.isRunning || now - call.startedMs < minuteMs);
    const { all, tenant, host: hostBounds } = this.#limits;
    refuseBeyond(all, this.#calls, now, "in this process");
    refuseBeyond(
      tenant,
      this.#calls.filter((call) => call.tenantId === tenantId),
      now,
      "for this tenant",
    );
    refuseBeyond(
      hostBounds,
      this.#calls.filter((call) => call.host === host),
      now,
      `to ${host}`,
    );
    const call = { tenantId, host, startedMs: now, isRunning: true };
    this.#calls.push(call);
    return call;
  }
}

function refuseBeyond(bounds: CallBounds, calls: readonly OutsideCall[], now: number, whose: string): void {
  const running = calls.filter(({ isRunning }) => isRunning).length;
  if (running >= bounds.atOnce) {
    const detail = `${running} direct requests ${whose} are running; the limit is ${bounds.atOnce}. Try again when one has ended`;
    throw new PosthornError("rate_limited", detail, { retryAfterSeconds: busyRetrySeconds });
  }
  const recent = calls.filter(({ startedMs }) => now - startedMs < minuteMs);
  if (recent.length < bounds.perMinute) return;
  const oldestMs = Math.min(...recent.map(({ startedMs }) => startedMs));
  throw new PosthornError(
    "rate_limited",
    `the limit is ${bounds.perMinute} direct requests ${whose} per minute`,
    { retryAfterSeconds: Math.max(1, Math.ceil((oldestMs + minuteMs - now) / 1_000)) },
  );
}
