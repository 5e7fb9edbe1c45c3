import { idempotencyProblems } from "../core/http/idempotency-key.ts";

/**
 * Everything that can go wrong, with its stable code. Most are answered to the sender as problem details (RFC 9457);
 * `misconfigured` and `body_already_parsed` are mistakes of the application and are thrown at it where possible.
 */
export const receiverErrors = {
  invalid_message: { status: 400, title: "The message is not valid" },
  idempotency_key_missing: { status: 400, title: idempotencyProblems.missing.title },
  idempotency_key_malformed: { status: 400, title: "The Idempotency-Key is malformed" },
  unauthenticated: { status: 401, title: "The message is not authentic" },
  forbidden: { status: 403, title: "The sender may not send this here" },
  not_found: { status: 404, title: "There is nothing here" },
  method_not_allowed: { status: 405, title: "This method is not supported here" },
  idempotency_key_in_progress: { status: 409, title: idempotencyProblems.outstanding.title },
  endpoint_retired: { status: 410, title: "This endpoint is retired" },
  payload_too_large: { status: 413, title: "The message is too large" },
  unsupported_media_type: { status: 415, title: "The format is not understood" },
  idempotency_key_reused: { status: 422, title: idempotencyProblems.reused.title },
  rate_limited: { status: 429, title: "Too many requests" },
  handler_failed: { status: 500, title: "Something went wrong on this side" },
  misconfigured: { status: 500, title: "This endpoint is not set up correctly" },
  body_already_parsed: { status: 500, title: "This endpoint is not set up correctly" },
  overloaded: { status: 503, title: "The receiver cannot accept this now" },
  budget_exceeded: { status: 503, title: "The message could not be processed in time" },
  store_unavailable: { status: 503, title: "The receiver cannot accept this now" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ReceiverErrorCode = keyof typeof receiverErrors;

/**
 * The one error of the kit. A handler may throw it to choose an answer: `invalid_message` when a message does not match
 * its schema (400, TS16-18), `forbidden`, `rate_limited`, `overloaded`, … The message text reaches the sender as
 * `detail`, except for codes that answer 500; never put a secret into it.
 */
export class ReceiverError extends Error {
  override readonly name = "ReceiverError";
  readonly code: ReceiverErrorCode;
  /** What is answered, unless the receiver's `statuses` say otherwise. Express and Fastify read it, too. */
  readonly status: number;
  /** Sent as `Retry-After`; null lets the receiver choose where one is due. */
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
