import type { VerifiedMessage } from "./message/message.ts";
import { ReceiverError, type ReceiverErrorCode, receiverErrors } from "./receiver-error.ts";

/** The response to the sender. Adapters send it unchanged. */
export interface ReceiverAnswer {
  /** 2xx, 4xx or 5xx; never 3xx. */
  readonly status: number;
  /** Indexed by lower-case name. */
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
  /** `Retry-After` if no specific value is available. */
  readonly retryAfterSeconds: number;
}

/** The response of a handler. Returning nothing means "processed" (204). */
export interface HandlerAnswer {
  readonly status?: HandlerStatus;
  /** A string, bytes, or a value that is sent as JSON. */
  readonly body?: unknown;
  /** The default depends on the body: `text/plain`, `application/octet-stream` or `application/json`. */
  readonly contentType?: string;
  /** Sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
}

const handlerStatuses = [
  200, 201, 202, 204, 400, 401, 403, 404, 409, 410, 413, 415, 422, 429, 500, 503,
] as const;
export type HandlerStatus = (typeof handlerStatuses)[number];

/**
 * Runs once for each message. If it throws, the response is 500 and the sender should retry. A thrown ReceiverError
 * sets the status.
 */
export type MessageHandler<Transaction = undefined> = (
  received: VerifiedMessage<Transaction>,
  // oxlint-disable-next-line typescript/no-invalid-void-type -- most handlers return nothing
) => HandlerAnswer | void | Promise<HandlerAnswer | void>;

/** A response in the form that is stored and replayed. */
export interface StoredAnswer {
  readonly status: number;
  readonly contentType?: string;
  readonly text?: string;
  readonly base64?: string;
  readonly retryAfterSeconds?: number;
}

/** Larger bodies are sent but not stored: in that case, a repeated message gets only the status. */
const storedBodyCharactersMax = 65_536;

/**
 * Validates a handler's result and completes it: 200 and a content type for a result with a body, 204 for a result
 * without one. Throws ReceiverError `handler_failed` for an invalid result.
 */
function readHandlerAnswer(returned: unknown, processedStatus: number | undefined): StoredAnswer {
  if (returned !== undefined && (typeof returned !== "object" || returned === null)) {
    throw misuse("a handler must return nothing or an object with status, body and contentType");
  }
  const { status, body, contentType, retryAfterSeconds } = (returned ?? {}) as HandlerAnswer;
  if (status !== undefined && !handlerStatuses.includes(status)) {
    throw misuse(`a handler must not return the status ${String(status)}`);
  }
  if (body !== undefined && status === 204) throw misuse("a 204 response must not have a body");
  if (contentType !== undefined && !/^[\x21-\x7e][\x20-\x7e]{0,254}$/.test(contentType)) {
    throw misuse("contentType is not a valid header value");
  }
  const guidance = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  if (body === undefined) {
    return { status: statusWithoutBody(status, processedStatus), ...guidance };
  }
  return {
    status: status ?? (isWithBody(processedStatus) ? processedStatus : 200),
    ...encodeBody(body, contentType),
    ...guidance,
  };
}

function statusWithoutBody(status: number | undefined, processedStatus: number | undefined): number {
  if (status !== undefined && status !== 200) return status;
  return processedStatus ?? 204;
}

function isWithBody(status: number | undefined): status is number {
  return status !== undefined && status !== 204 && status !== 205;
}

function encodeBody(body: unknown, contentType: string | undefined): Omit<StoredAnswer, "status"> {
  if (typeof body === "string")
    return { text: body, contentType: contentType ?? "text/plain; charset=utf-8" };
  if (body instanceof Uint8Array) {
    return { base64: toBase64(body), contentType: contentType ?? "application/octet-stream" };
  }
  // `JSON.stringify` returns undefined for functions and symbols, despite its declared type.
  const text = JSON.stringify(body) as string | undefined;
  if (text === undefined) throw misuse("the body cannot be written as JSON");
  return { text, contentType: contentType ?? "application/json" };
}

/** The response, both for the first message and for repeated ones. */
export function storedToAnswer(stored: StoredAnswer, style: AnswerStyle): ReceiverAnswer {
  const { status, retryAfterSeconds = status === 503 ? style.retryAfterSeconds : undefined } = stored;
  const { contentType, body } = storedBody(stored);
  return seal(
    {
      status,
      headers: {
        ...(contentType !== undefined && { "content-type": contentType }),
        ...(retryAfterSeconds !== undefined && { "retry-after": retryAfterValue(retryAfterSeconds) }),
      },
      body,
    },
    style,
  );
}

interface AnswerBody {
  readonly contentType?: string | undefined;
  readonly body: Uint8Array | string | null;
}

/** A refusal without a body gets problem details that only repeat the status. */
function storedBody({ status, contentType, text, base64 }: StoredAnswer): AnswerBody {
  if (base64 !== undefined) return { contentType, body: fromBase64(base64) };
  if (text !== undefined) return { contentType, body: text };
  if (status < 400) return { body: null };
  const problem = { type: "about:blank", title: reasonPhrases[status] ?? "Refused", status };
  return { contentType: "application/problem+json", body: JSON.stringify(problem) };
}

const reasonPhrases: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

export function serializeStored(stored: StoredAnswer): string {
  const size = (stored.text ?? stored.base64 ?? "").length;
  if (size <= storedBodyCharactersMax) return JSON.stringify(stored);
  return JSON.stringify({ status: stored.status === 200 ? 204 : stored.status });
}

export function deserializeStored(text: string): StoredAnswer {
  return JSON.parse(text) as StoredAnswer;
}

/**
 * Whether the work is finished, so that repeated messages get the same response. After 5xx, 429 and 409 it is not
 * finished: the key is released and a retry runs the handler again.
 */
export function isFinal(stored: StoredAnswer): boolean {
  return stored.status < 500 && stored.status !== 429 && stored.status !== 409;
}

function misuse(detail: string): ReceiverError {
  return new ReceiverError("handler_failed", detail);
}

// Every runtime has btoa and atob, but not all have the base64 methods of Uint8Array yet.
function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/**
 * Runs the handler and validates its result. Throws only ReceiverError: the handler's own, or `handler_failed` for any
 * other error.
 */
export async function runHandler<Transaction>(
  handler: MessageHandler<Transaction>,
  received: VerifiedMessage<Transaction>,
  processedStatus: number | undefined,
): Promise<StoredAnswer> {
  try {
    return readHandlerAnswer(await handler(received), processedStatus);
  } catch (error) {
    if (error instanceof ReceiverError) throw error;
    throw new ReceiverError("handler_failed", "The handler threw.", { cause: error });
  }
}

/** Every 429 and 503 response says when to retry, and so does a 409 response about a running request. */
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

/**
 * Problem details (RFC 9457). Internal causes are only logged and never shown to the sender, who may be an attacker.
 */
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

/** Enforces rules for every response: a 429 has `Retry-After`, and a 204 has no content. */
function seal(answer: ReceiverAnswer, style: AnswerStyle): ReceiverAnswer {
  const headers: Record<string, string> = { ...answer.headers };
  if (answer.status === 429) headers["retry-after"] ??= retryAfterValue(style.retryAfterSeconds);
  if (answer.status !== 204 && answer.status !== 205) return { ...answer, headers };
  delete headers["content-type"];
  return { ...answer, headers, body: null };
}

const retryAfterSecondsMax = 31_536_000;

/** Whole seconds up to a year, and never `0`, which senders treat as no guidance. */
function retryAfterValue(seconds: number): string {
  // For NaN the comparison is false, which gives the shortest delay.
  return String(seconds > 1 ? Math.min(Math.ceil(seconds), retryAfterSecondsMax) : 1);
}
