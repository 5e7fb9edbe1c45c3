/**
 * Evaluates the fields of the permission handshake of "HTTP 1.1 Web Hooks for Event Delivery" (CEW-4): what a response
 * to the OPTIONS request, or a call of the callback URL, permits.
 */

/** Requests per minute that a receiver grants; null for no limit. */
export type AllowedRate =
  | { readonly kind: "rate"; readonly perMinute: number | null }
  | { readonly kind: "invalid" };

/** The highest rate that a webhook can have; a larger grant is reduced to it. */
const ratePerMinuteMax = 1_000_000;
const rateDigitsMax = 30;

/** CEW-4.2.2-3: only `*` or a positive integer. */
export function parseAllowedRate(text: string): AllowedRate {
  const value = text.trim();
  if (value === "*") return { kind: "rate", perMinute: null };
  if (!/^\d+$/.test(value) || value.length > rateDigitsMax) return { kind: "invalid" };
  const perMinute = Number(value);
  return perMinute > 0
    ? { kind: "rate", perMinute: Math.min(perMinute, ratePerMinuteMax) }
    : { kind: "invalid" };
}

/** The handshake request and its response. */
export interface HandshakeExchange {
  readonly requestOrigin: string;
  readonly requestedRatePerMinute: number | null;
  readonly status: number;
  /** `WebHook-Allowed-Origin` and `WebHook-Allowed-Rate`, if present. */
  readonly allowedOrigin: string | undefined;
  readonly allowedRate: string | undefined;
}

export type HandshakeVerdict =
  | { readonly kind: "granted"; readonly allowedRatePerMinute: number | null }
  /** The receiver supports the handshake but does not permit, or its response is not reliable. */
  | { readonly kind: "refused"; readonly detail: string }
  /** The response has no handshake fields: not supported, or permission will come through the callback (CEW-4.2-2). */
  | { readonly kind: "unanswered"; readonly detail: string }
  /** A transient failure, which says nothing about permission. */
  | { readonly kind: "failed"; readonly detail: string };

/**
 * Evaluates a response. Permission is given by the headers, whatever 2xx or 4xx status comes with them (CEW-4.2-3): a
 * server that does not support OPTIONS may return 405 around the fields that its application set, and one that returns
 * 200 to everything has permitted nothing. A redirect is never the target's own response, and 5xx is a transient
 * failure, so neither counts. Without `WebHook-Allowed-Rate` the requested rate applies (CEW-4.2.2-1, CEW-4.2.2-2).
 */
export function judgeHandshake(exchange: HandshakeExchange): HandshakeVerdict {
  const { status, allowedOrigin, allowedRate, requestOrigin } = exchange;
  if (status >= 500) return { kind: "failed", detail: `the receiver answered OPTIONS with ${status}` };
  if (status >= 300 && status < 400) {
    const detail = `the receiver answered OPTIONS with ${status}; a redirect is not followed and permits nothing`;
    return { kind: "refused", detail };
  }
  if (allowedOrigin === undefined) {
    const detail = `the receiver answered OPTIONS with ${status}, without WebHook-Allowed-Origin`;
    return { kind: "unanswered", detail };
  }
  const origin = allowedOrigin.trim();
  if (origin !== "*" && origin !== requestOrigin) {
    return { kind: "refused", detail: `WebHook-Allowed-Origin is neither * nor ${requestOrigin}` };
  }
  return judgeRate(allowedRate, exchange.requestedRatePerMinute);
}

/** The rate of a permission: the granted one, or the requested one if none was given. */
export function judgeRate(
  allowedRate: string | undefined,
  requestedRatePerMinute: number | null,
): Extract<HandshakeVerdict, { readonly kind: "granted" | "refused" }> {
  if (allowedRate === undefined) return { kind: "granted", allowedRatePerMinute: requestedRatePerMinute };
  const rate = parseAllowedRate(allowedRate);
  if (rate.kind === "invalid") {
    return { kind: "refused", detail: "WebHook-Allowed-Rate is neither * nor a positive whole number" };
  }
  return { kind: "granted", allowedRatePerMinute: rate.perMinute };
}
