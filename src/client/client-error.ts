import type { Problem } from "./api-types.ts";

/** Codes of this version; a newer server may return others. */
export type ErrorCode = Problem["code"] | (string & {});

/** The failed call. */
export interface FailedCall {
  readonly method: string;
  /** Without the query, which may contain private names. */
  readonly path: string;
  /** Number of requests sent. */
  readonly attempts: number;
  /** Idempotency key of a POST. With this key the call can be repeated and takes effect once. */
  readonly idempotencyKey: string | null;
}

/** Base class of all errors of the client. */
export class PosthornClientError extends Error {
  override readonly name: string = "PosthornClientError";
  readonly call: FailedCall;

  constructor(message: string, call: FailedCall, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.call = call;
  }
}

/** The server refused the call and said why (RFC 9457). Distinguish errors by `code`. */
export class ApiError extends PosthornClientError {
  override readonly name = "ApiError";
  readonly code: ErrorCode;
  readonly status: number;
  /** Each invalid field and what is wrong with it. */
  readonly errors: readonly { readonly field: string; readonly message: string }[];
  /** Seconds to wait before a retry. */
  readonly retryAfterSeconds: number | null;
  readonly problem: Problem;

  constructor(problem: Problem, call: FailedCall, retryAfterMs: number | null) {
    super(problem.detail === "" ? problem.title : problem.detail, call);
    this.problem = problem;
    this.code = problem.code;
    this.status = problem.status;
    this.errors = problem.errors ?? [];
    this.retryAfterSeconds = retryAfterMs === null ? null : Math.ceil(retryAfterMs / 1_000);
  }
}

/** No response arrived: the server could not be reached, the connection broke, or the request timed out. */
export class UnansweredError extends PosthornClientError {
  override readonly name = "UnansweredError";
  readonly reason: "unreachable" | "timeout";

  constructor(message: string, call: FailedCall, reason: "unreachable" | "timeout", cause: unknown) {
    super(message, call, cause);
    this.reason = reason;
  }
}

/** The response is not from Posthorn, for example an error page of a proxy, or a redirect. */
export class UnexpectedAnswerError extends PosthornClientError {
  override readonly name = "UnexpectedAnswerError";
  readonly status: number;
  /** Target of a redirect, which is never followed because the key belongs to one server. */
  readonly location: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(
    message: string,
    call: FailedCall,
    status: number,
    location: string | null,
    retryAfterMs: number | null,
  ) {
    super(message, call);
    this.status = status;
    this.location = location;
    this.retryAfterSeconds = retryAfterMs === null ? null : Math.ceil(retryAfterMs / 1_000);
  }
}
