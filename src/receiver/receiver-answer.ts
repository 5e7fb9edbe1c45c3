import { receiverErrors, type ReceiverError, type ReceiverErrorCode } from "./receiver-error.ts";

/** The response to the sender. Adapters send it unchanged. */
export interface ReceiverAnswer {
  /** 2xx, 4xx or 5xx; never 3xx. */
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string | null;
}

/**
 * Statuses that a producer requires instead of the usual ones, by situation: `queued` (202), `processed` (204, or 200
 * with a body), `duplicate` (the stored status), or the code of an error.
 */
export type StatusOverrides = Readonly<
  Partial<Record<"queued" | "processed" | "duplicate" | ReceiverErrorCode, number>>
>;

/** Settings that all responses share. */
export interface AnswerStyle {
  readonly statuses: StatusOverrides;
  /** Page that problem details link to. */
  readonly documentationUrl: string;
  /** `Retry-After` if no better value is known. */
  readonly retryAfterSeconds: number;
}

/** Every 429 and 503 says when to retry, and so does a 409 about a running request. */
const codesWithRetryAfter: ReadonlySet<ReceiverErrorCode> = new Set([
  "idempotency_key_in_progress",
  "rate_limited",
  "overloaded",
  "budget_exceeded",
  "store_unavailable",
] satisfies readonly ReceiverErrorCode[]);

const idempotencyCodes: ReadonlySet<ReceiverErrorCode> = new Set([
  "idempotency_key_missing",
  "idempotency_key_malformed",
  "idempotency_key_in_progress",
  "idempotency_key_reused",
] satisfies readonly ReceiverErrorCode[]);

/** Problem details (RFC 9457). Causes on our own side are for the log only, not for attackers. */
export function problemAnswer(
  error: ReceiverError,
  style: AnswerStyle,
  headers: Record<string, string> = {},
): ReceiverAnswer {
  const { code } = error;
  const { title, status: usual } = receiverErrors[code];
  const status = style.statuses[code] ?? usual;
  const problem = {
    type: `${style.documentationUrl}#${code.replaceAll("_", "-")}`,
    title,
    status,
    detail: usual === 500 ? "The message was not processed. Please send it again later." : error.message,
  };
  const retryAfterSeconds =
    error.retryAfterSeconds ?? (codesWithRetryAfter.has(code) ? style.retryAfterSeconds : null);
  return seal(
    {
      status,
      headers: {
        "content-type": "application/problem+json",
        "content-language": "en",
        ...(idempotencyCodes.has(code) && {
          link: `<${style.documentationUrl}>; rel="describedby"; type="text/html"`,
        }),
        ...(retryAfterSeconds !== null && { "retry-after": retryAfterValue(retryAfterSeconds) }),
        ...headers,
      },
      body: JSON.stringify(problem),
    },
    style,
  );
}

/** Enforces rules for every response: a 429 has `Retry-After`, a 204 has no content. */
export function seal(answer: ReceiverAnswer, style: AnswerStyle): ReceiverAnswer {
  const headers: Record<string, string> = { ...answer.headers };
  if (answer.status === 429) headers["retry-after"] ??= retryAfterValue(style.retryAfterSeconds);
  if (answer.status !== 204 && answer.status !== 205) return { ...answer, headers };
  delete headers["content-type"];
  return { ...answer, headers, body: null };
}

const retryAfterSecondsMax = 31_536_000;

/** Whole seconds up to a year, and never `0`, which senders treat as no guidance. */
export function retryAfterValue(seconds: number): string {
  // For NaN the comparison is false, which gives the shortest wait.
  return String(seconds > 1 ? Math.min(Math.ceil(seconds), retryAfterSecondsMax) : 1);
}
