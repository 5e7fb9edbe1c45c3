import { idempotencyProblems } from "../domain/http/idempotency-key.ts";

/**
 * All errors with their stable codes. Most are returned to the sender as problem details (RFC 9457); `misconfigured`
 * and `body_already_parsed` are caused by mistakes in the application and are thrown to it if possible.
 */
export const receiverErrors = {
  invalid_message: { status: 400, title: "The message is not valid" },
  idempotency_key_missing: { status: 400, title: idempotencyProblems.missing.title },
  idempotency_key_malformed: { status: 400, title: "The Idempotency-Key is malformed" },
  unauthenticated: { status: 401, title: "The message is not authentic" },
  forbidden: { status: 403, title: "The sender may not send this here" },
  not_found: { status: 404, title: "Not found" },
  method_not_allowed: { status: 405, title: "This method is not supported here" },
  idempotency_key_in_progress: { status: 409, title: idempotencyProblems.outstanding.title },
  endpoint_retired: { status: 410, title: "This endpoint is retired" },
  payload_too_large: { status: 413, title: "The message is too large" },
  unsupported_media_type: { status: 415, title: "The format is not supported" },
  idempotency_key_reused: { status: 422, title: idempotencyProblems.reused.title },
  rate_limited: { status: 429, title: "Too many requests" },
  handler_failed: { status: 500, title: "Internal error" },
  misconfigured: { status: 500, title: "This endpoint is not set up correctly" },
  body_already_parsed: { status: 500, title: "This endpoint is not set up correctly" },
  overloaded: { status: 503, title: "The receiver cannot accept this now" },
  budget_exceeded: { status: 503, title: "The message could not be processed in time" },
  store_unavailable: { status: 503, title: "The receiver cannot accept this now" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ReceiverErrorCode = keyof typeof receiverErrors;

/**
 * The only error class of the kit. A handler may throw it to choose a response: `invalid_message` if a message does not
 * match its schema (400), `forbidden`, `rate_limited`, `overloaded`, … The sender gets the error message as `detail`,
 * except for codes with status 500; never include a secret.
 */
export class ReceiverError extends Error {
  override readonly name = "ReceiverError";
  readonly code: ReceiverErrorCode;
  /** The status of the response, unless the receiver's `statuses` override it. Express and Fastify also read it. */
  readonly status: number;
  /** Sent as `Retry-After`; if null, the receiver chooses a value if one is required. */
  readonly retryAfterSeconds: number | null;

  constructor(
    code: ReceiverErrorCode,
    detail: string,
    more: { readonly retryAfterSeconds?: number | undefined; readonly cause?: unknown } = {},
  ) {
    super(detail, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.status = receiverErrors[code].status;
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
  }
}

/** The error for an option, key or address that cannot work. */
export function misconfigured(detail: string): ReceiverError {
  return new ReceiverError("misconfigured", detail);
}

/**
 * A signature covers bytes, but the body has already been converted. Only the application can fix that, so the error
 * shows how.
 */
export function alreadyParsed(by: string, remedy: string): ReceiverError {
  return new ReceiverError(
    "body_already_parsed",
    `${by} has already read the body of this request, so its signature cannot be verified. ${remedy}`,
  );
}
