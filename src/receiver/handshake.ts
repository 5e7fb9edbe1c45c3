import type { ReceivedMessage } from "./message/message.ts";
import type { ReceiverAnswer } from "./receiver-answer.ts";
import { ReceiverError } from "./receiver-error.ts";

/**
 * Abuse protection of CloudEvents web hooks, on the side of the receiver (CEW-4): a sender asks by OPTIONS whether it may
 * deliver, and how fast. Only the headers of the answer count as consent, never its status (CEW-4.2-3).
 */
export interface HandshakeOptions {
  /** Names of senders that may deliver, `*` for all, or a function that decides, for example after asking a database. */
  readonly allow:
    | "*"
    | readonly string[]
    | ((request: HandshakeRequest) => HandshakeDecision | Promise<HandshakeDecision>);
  /** What is granted at most, in requests per minute. `*`, the default, is no limit. */
  readonly ratePerMinuteMax?: number | "*";
}

export interface HandshakeRequest {
  /** A DNS name that the sender gives itself; nothing proves it (CEW-4.1.2-1). */
  readonly origin: string;
  /** Requests per minute it would like; null when it did not say. */
  readonly ratePerMinute: number | null;
  /** Where consent can be given later, with {@link grantByCallback}; null when the sender does not offer it. */
  readonly callbackUrl: string | null;
  readonly message: ReceivedMessage;
}

/** `later` withholds consent for now (CEW-4.2-2): note the callback URL and call it when somebody has agreed. */
export type HandshakeDecision = "allow" | "deny" | "later";

const callbackUrlLengthMax = 2_048;

/** The answer to OPTIONS. Throws ReceiverError `invalid_message` for what is no handshake. */
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
      // The header has two forms (CEW-4.2.1-1); an echo would look like an agreement with this sender alone.
      "webhook-allowed-origin": options.allow === "*" ? "*" : request.origin,
      "webhook-allowed-rate": grantedRate(request.ratePerMinute, options.ratePerMinuteMax ?? "*"),
    },
    body: null,
  };
}

function readRequest(message: ReceivedMessage): HandshakeRequest {
  const origin = message.headers.get("webhook-request-origin")?.trim() ?? "";
  // Checked, because it is echoed into a header.
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

/** What was asked for, but not more than the limit (CEW-4.2.2). */
function grantedRate(asked: number | null, limit: number | "*"): string {
  if (limit === "*") return "*";
  return String(asked === null ? limit : Math.min(asked, limit));
}

export interface CallbackGrant {
  /** {@link HandshakeRequest.callbackUrl}. */
  readonly url: string;
  /**
   * Hosts that may be called. The URL may come from an attacker: without this list anybody could make this server send
   * requests wherever they like.
   */
  readonly allowedHosts: readonly string[];
  readonly ratePerMinute: number | "*";
  /** Default 10,000. */
  readonly timeoutMs?: number;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * Gives consent later, by POST to the callback URL, with the rate as `WebHook-Allowed-Rate` (CEW-4.1.3, CEW-4.2.2-2).
 * Throws ReceiverError `forbidden` for a host that is not allowed; rejects when the call fails.
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
