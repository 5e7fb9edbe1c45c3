/** Errors as RFC 9457 problem details. */
import type { ServerResponse } from "node:http";
import { idempotencyProblems } from "../core/http/idempotency-key.ts";
import {
  DuplicateEventError,
  errorTable,
  InvalidRequestError,
  NotFoundError,
  PosthornError,
} from "../core/errors.ts";
import type { ErrorCode, FieldError } from "../core/errors.ts";
import { StoreUnavailableError, storeTroubles } from "../ports/store.ts";
import { UnauthenticatedError } from "./authentication.ts";
import { fieldErrorsMax } from "./field-errors.ts";

const problemContentType = "application/problem+json";

/** A complete response, as sent and as stored for an Idempotency-Key. */
export interface Rendered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** See `Answer`; not stored. */
  readonly open?: (response: ServerResponse) => void;
}

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly errors?: readonly FieldError[];
  /** For a reused idempotency key of an event: the event it belongs to. */
  readonly event_id?: string;
}

/** `basePath` of the server for the link in `type`; empty for none. */
export function problemOf(error: PosthornError, basePath: string): Problem {
  const { status, title } = errorTable[error.code];
  return {
    type: basePath + problemType(error.code),
    title,
    status,
    detail: error.message,
    code: error.code,
    ...(error.fields.length > 0 && { errors: error.fields.slice(0, fieldErrorsMax) }),
    ...(error instanceof DuplicateEventError && { event_id: error.eventId }),
  };
}

export function renderProblem(error: PosthornError, basePath: string): Rendered {
  return {
    status: error.status,
    headers: {
      "content-type": problemContentType,
      "x-content-type-options": "nosniff",
      ...extraHeaders(error, basePath),
    },
    text: JSON.stringify(problemOf(error, basePath)),
  };
}

const idempotencyCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "idempotency_key_malformed",
  "idempotency_key_in_progress",
  "idempotency_key_reused",
]);

function problemType(code: ErrorCode): string {
  return idempotencyCodes.has(code) ? "/docs/idempotency" : `/docs/errors#${code}`;
}

function extraHeaders(error: PosthornError, basePath: string): Record<string, string> {
  const headers: Record<string, string> = {};
  if (error.retryAfterSeconds !== null) headers["retry-after"] = String(error.retryAfterSeconds);
  if (error instanceof UnauthenticatedError) headers["www-authenticate"] = error.challenge;
  if (error instanceof MethodNotAllowedError) headers["allow"] = error.allow.join(", ");
  if (idempotencyCodes.has(error.code)) {
    headers["link"] = `<${basePath}/docs/idempotency>; rel="describedby"; type="text/html"`;
    headers["content-language"] = "en";
  }
  return headers;
}

export class MethodNotAllowedError extends PosthornError {
  override readonly name = "MethodNotAllowedError";
  readonly allow: readonly string[];
  constructor(allow: readonly string[]) {
    super("method_not_allowed", `This path supports ${allow.join(", ")}.`);
    this.allow = allow;
  }
}

export function keyReusedError(): PosthornError {
  return new PosthornError("idempotency_key_reused", idempotencyProblems.reused.detail);
}

export function keyOutstandingError(): PosthornError {
  return new PosthornError("idempotency_key_in_progress", idempotencyProblems.outstanding.detail, {
    retryAfterSeconds: 1,
  });
}

/**
 * Converts a thrown value to an error with a code. Returns null for unexpected errors, which are logged and answered
 * without details.
 */
export function knownError(error: unknown): PosthornError | null {
  if (error instanceof PosthornError) return error;
  if (error instanceof StoreUnavailableError) {
    return new PosthornError("unavailable", unavailableDetail(error), { retryAfterSeconds: 1, cause: error });
  }
  return frameworkError(error);
}

function unavailableDetail({ trouble, outcome }: StoreUnavailableError): string {
  if (outcome === "unknown") {
    return "The store did not confirm whether the change was written. Check, or repeat the call with the same Idempotency-Key.";
  }
  if (trouble === "away") return "The store is unavailable. Nothing was changed.";
  return `Nothing was changed: ${storeTroubles[trouble]}.`;
}

export function unexpectedError(requestId: string): PosthornError {
  return new PosthornError(
    "internal_error",
    `The request failed. The log has details under the request id ${requestId}.`,
  );
}

/** Errors that Fastify raises before a handler runs. */
function frameworkError(error: unknown): PosthornError | null {
  if (!(error instanceof Error) || !("code" in error) || !("statusCode" in error)) return null;
  switch (error.code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new PosthornError(
        "unsupported_media_type",
        "Content-Type is not a media type such as application/json.",
      );
    case "FST_ERR_BAD_URL":
      return new InvalidRequestError("The path is not a valid URL path.", []);
    case "FST_ERR_MAX_PARAM_LENGTH":
      return new NotFoundError("this path");
    default:
      return Number(error.statusCode) < 500 ? new InvalidRequestError("The request is malformed.", []) : null;
  }
}
