/**
 * Every error that a caller can get, with its stable code. The HTTP API returns them as problem details (RFC 9457); the
 * library throws them. The page `/docs/errors` of a running server is generated from this table, and a test checks the
 * count.
 */
export const errorTable = {
  invalid_request: { status: 400, title: "The request is not valid" },
  malformed_json: { status: 400, title: "The body is not valid JSON" },
  schema_violation: { status: 400, title: "The data does not match the schema of its event type" },
  invalid_cursor: { status: 400, title: "The cursor is not valid" },
  idempotency_key_malformed: { status: 400, title: "The Idempotency-Key is malformed" },
  unauthenticated: { status: 401, title: "A valid API key is required" },
  forbidden: { status: 403, title: "The API key does not allow this" },
  not_found: { status: 404, title: "Not found" },
  method_not_allowed: { status: 405, title: "This method is not supported here" },
  conflict: { status: 409, title: "The request conflicts with the current state" },
  event_in_progress: { status: 409, title: "An event with this idempotency key is being published" },
  idempotency_key_in_progress: { status: 409, title: "A request is outstanding for this Idempotency-Key" },
  delivery_in_flight: { status: 409, title: "An attempt of this delivery is in flight" },
  rotation_in_progress: { status: 409, title: "The overlap of an earlier rotation is still running" },
  secret_in_use: { status: 409, title: "The secret is already in use" },
  payload_gone: { status: 410, title: "The payload was removed by retention" },
  payload_too_large: { status: 413, title: "The payload is too large" },
  unsupported_media_type: { status: 415, title: "The media type is not supported" },
  event_key_reused: { status: 422, title: "The idempotency key was used for a different event" },
  idempotency_key_reused: { status: 422, title: "Idempotency-Key is already used" },
  rate_limited: { status: 429, title: "Too many requests" },
  verification_failed: { status: 422, title: "The webhook did not pass its verification" },
  limit_reached: { status: 422, title: "A limit of the tenant is reached" },
  acknowledgement_required: { status: 422, title: "An acknowledgement is missing" },
  internal_error: { status: 500, title: "Internal error" },
  unavailable: { status: 503, title: "The service cannot accept this now" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof errorTable;

/** One invalid field: a path such as `retry_config.max_attempts`, and what is wrong with it. Never the value. */
export interface FieldError {
  readonly field: string;
  readonly message: string;
}

interface ErrorDetails {
  readonly fields?: readonly FieldError[];
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** Base class of every error with a code. Both `instanceof` and `code` identify an error. */
export class PosthornError extends Error {
  override readonly name: string = "PosthornError";
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[];
  /** Number of seconds after which a retry makes sense. Sent as `Retry-After`. */
  readonly retryAfterSeconds: number | null;

  constructor(code: ErrorCode, detail: string, more: ErrorDetails = {}) {
    super(detail, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.fields = more.fields ?? [];
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
  }

  get status(): number {
    return errorTable[this.code].status;
  }
}

export class InvalidRequestError extends PosthornError {
  override readonly name = "InvalidRequestError";
  constructor(detail: string, fields: readonly FieldError[]) {
    super("invalid_request", detail, { fields });
  }
}

export class SchemaViolationError extends PosthornError {
  override readonly name = "SchemaViolationError";
  constructor(detail: string, fields: readonly FieldError[]) {
    super("schema_violation", detail, { fields });
  }
}

/** The message names the limit and the actual size (WDS-116, WDS-201). */
export class PayloadTooLargeError extends PosthornError {
  override readonly name = "PayloadTooLargeError";
  constructor(bytes: number, bytesMax: number) {
    super("payload_too_large", `the payload has ${bytes} bytes; the limit is ${bytesMax} bytes`);
  }
}

/** Thrown by the library where the API returns `"duplicate": true` (WDS-115). */
export class DuplicateEventError extends PosthornError {
  override readonly name = "DuplicateEventError";
  /** ID of the event that was first published with this key. */
  readonly eventId: string;
  constructor(eventId: string, code: "event_key_reused" | "conflict", detail: string) {
    super(code, detail);
    this.eventId = eventId;
  }
}

export class NotFoundError extends PosthornError {
  override readonly name = "NotFoundError";
  constructor(what: string) {
    super("not_found", `${what} does not exist`);
  }
}

export class UnavailableError extends PosthornError {
  override readonly name = "UnavailableError";
  constructor(detail: string, cause?: unknown) {
    super("unavailable", detail, { retryAfterSeconds: 1, cause });
  }
}
