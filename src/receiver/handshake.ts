import type { ReceivedMessage } from "./message/message.ts";
import type { ReceiverAnswer } from "./answers.ts";
import { ReceiverError } from "./receiver-error.ts";

/**
 * The format of a challenge: long enough for any random string, without characters that a browser could interpret as a
 * page.
 */
const challengeText = /^[\w.~+/=-]{1,512}$/;
const bodyBytesMax = 4_096;

/**
 * The echo of a Posthorn registration challenge (`verify_url`), or null for any other message. The challenge is not
 * signed, because the receiver does not have the secret yet. The echo only confirms that deliveries are wanted here.
 */
export function echoChallenge(body: Uint8Array): ReceiverAnswer | null {
  const challenge = body.length <= bodyBytesMax ? challengeOf(body) : null;
  if (challenge === null) return null;
  const headers = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
  return { status: 200, headers, body: challenge };
}

function challengeOf(body: Uint8Array): string | null {
  try {
    const message: unknown = JSON.parse(new TextDecoder().decode(body));
    if (typeof message !== "object" || message === null) return null;
    const { type, challenge } = message as { readonly type?: unknown; readonly challenge?: unknown };
    const isQuestion = type === "posthorn.webhook.verification" && typeof challenge === "string";
    return isQuestion && challengeText.test(challenge) ? challenge : null;
  } catch {
    return null;
  }
}

/**
 * Abuse protection of CloudEvents web hooks on the receiver side: a sender uses OPTIONS to request permission to
 * deliver, at a certain rate. Only the response headers grant permission, never the status. See section 4 of {@link
 * https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md#4-abuse-protection | HTTP 1.1 Web Hooks for
 * Event Delivery}.
 */
export interface HandshakeOptions {
  /** Names of senders that may deliver, `*` for all, or a function that decides, for example with a database query. */
  readonly allow:
    | "*"
    | readonly string[]
    | ((request: HandshakeRequest) => HandshakeDecision | Promise<HandshakeDecision>);
  /** Maximum granted rate in requests per minute. `*`, the default, means unlimited. */
  readonly ratePerMinuteMax?: number | "*";
}

export interface HandshakeRequest {
  /** A DNS name that the sender states; it is not authenticated. */
  readonly origin: string;
  /** Requested rate per minute; null if none was requested. */
  readonly ratePerMinute: number | null;
  /** Where permission can be granted later with {@link grantByCallback}; null if the sender does not offer it. */
  readonly callbackUrl: string | null;
  readonly message: ReceivedMessage;
}

/** `later` withholds permission for now: store the callback URL and call it when permission is granted. */
export type HandshakeDecision = "allow" | "deny" | "later";

const callbackUrlLengthMax = 2_048;

/** The response to OPTIONS. Throws ReceiverError `invalid_message` for a request that is not a handshake. */
export async function answerHandshake(
  message: ReceivedMessage,
  options: HandshakeOptions,
): Promise<ReceiverAnswer> {
  const request = readRequest(message);
  const headers = { allow: "POST" };
  if ((await decide(request, options)) !== "allow") return { status: 200, headers, body: null };
  return {
    status: 200,
    headers: {
      ...headers,
      // The header is either `*` or an origin. If all senders are allowed, echoing the origin would suggest that only
      // this sender is.
      "webhook-allowed-origin": options.allow === "*" ? "*" : request.origin,
      "webhook-allowed-rate": grantedRate(request.ratePerMinute, options.ratePerMinuteMax ?? "*"),
    },
    body: null,
  };
}

function readRequest(message: ReceivedMessage): HandshakeRequest {
  const origin = message.headers.get("webhook-request-origin")?.trim() ?? "";
  // Validated, because it is echoed in a header.
  if (!/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(origin)) {
    throw new ReceiverError("invalid_message", "WebHook-Request-Origin is missing or is not a DNS name.");
  }
  const rate = message.headers.get("webhook-request-rate")?.trim() ?? "";
  return {
    origin,
    ratePerMinute: /^[1-9][0-9]{0,8}$/.test(rate) ? Number(rate) : null,
    callbackUrl: callbackUrl(message.headers.get("webhook-request-callback")?.trim() ?? ""),
    message,
  };
}

function callbackUrl(text: string): string | null {
  const isUsable =
    text.length <= callbackUrlLengthMax && URL.canParse(text) && new URL(text).protocol === "https:";
  return isUsable ? text : null;
}

async function decide(request: HandshakeRequest, { allow }: HandshakeOptions): Promise<HandshakeDecision> {
  if (typeof allow === "function") return allow(request);
  if (allow === "*") return "allow";
  const origin = request.origin.toLowerCase();
  return allow.some((name) => name.toLowerCase() === origin) ? "allow" : "deny";
}

/** The requested rate, up to the limit. */
function grantedRate(asked: number | null, limit: number | "*"): string {
  if (limit === "*") return "*";
  return String(asked === null ? limit : Math.min(asked, limit));
}

export interface CallbackGrant {
  /** The URL in {@link HandshakeRequest.callbackUrl}. */
  readonly url: string;
  /**
   * Hosts that may be called. The URL may come from an attacker, who could otherwise make this server send requests to
   * any address.
   */
  readonly allowedHosts: readonly string[];
  readonly ratePerMinute: number | "*";
  /** Timeout in milliseconds; defaults to 10,000. */
  readonly timeoutMs?: number;
  /** Defaults to the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * Grants permission later by POST to the callback URL, with the rate as `WebHook-Allowed-Rate`. Throws ReceiverError
 * `forbidden` for a host that is not allowed; rejects if the call fails.
 */
export async function grantByCallback(grant: CallbackGrant): Promise<{ readonly status: number }> {
  const { url, allowedHosts, ratePerMinute, timeoutMs = 10_000, fetch = globalThis.fetch } = grant;
  const { protocol, host } = new URL(url);
  if (protocol !== "https:" || !allowedHosts.some((allowed) => allowed.toLowerCase() === host)) {
    throw new ReceiverError("forbidden", "The callback URL is not https or its host is not allowed.");
  }
  const response = await fetch(url, {
    method: "POST",
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMs),
    headers: { "webhook-allowed-rate": String(ratePerMinute) },
  });
  await response.body?.cancel();
  return { status: response.status };
}
