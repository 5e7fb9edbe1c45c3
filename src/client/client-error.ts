import type { Problem } from "./api-types.ts";

/** The codes of this version; a newer server may have others. */
export type ErrorCode = Problem["code"] | (string & {});

/** What every error tells of the call that failed. */
export interface FailedCall {
  readonly method: string;
  /** Without the query, which may name things. */
  readonly path: string;
  /** Requests that were made. */
  readonly attempts: number;
  /** Of a POST: with it the same call may be made again, and takes effect once. */
  readonly idempotencyKey: string | null;
}

/** Base of all errors of the client. */
export class PosthornClientError extends Error {
  override readonly name: string = "PosthornClientError";
  readonly call: FailedCall;

  constructor(message: string, call: FailedCall, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.call = call;
  }
}

/** The server refused the call and said why (RFC 9457). Tell errors apart by `code`. */
export class ApiError extends PosthornClientError {
  override readonly name = "ApiError";
  readonly code: ErrorCode;
  readonly status: number;
  /** Each bad field and what is wrong with it. */
  readonly errors: readonly { readonly field: string; readonly message: string }[];
  /** When a repeat makes sense. */
  readonly retryAfterSeconds: number | null;
  readonly problem: Problem;

  constructor(
    problem: Problem,
    call: FailedCall,
    { retryAfterMs }: { readonly retryAfterMs: number | null },
  ) {
    super(problem.detail === "" ? problem.title : problem.detail, call);
    this.problem = problem;
    this.code = problem.code;
    this.status = problem.status;
    this.errors = problem.errors ?? [];
    this.retryAfterSeconds = retryAfterMs === null ? null : Math.ceil(retryAfterMs / 1_000);
  }
}

/** No answer came: the server could not be reached, the connection broke, or it took too long. */
export class UnansweredError extends PosthornClientError {
  override readonly name = "UnansweredError";
  readonly reason: "unreachable" | "timeout";

  constructor(
    message: string,
    call: FailedCall,
    { reason, cause }: { readonly reason: "unreachable" | "timeout"; readonly cause: unknown },
  ) {
    super(message, call, cause);
    this.reason = reason;
  }
}

/** Something answered that is no Posthorn, or something in front of one: a page of a proxy, or a redirect. */
export class UnexpectedAnswerError extends PosthornClientError {
  override readonly name = "UnexpectedAnswerError";
  readonly status: number;
  /** Of a redirect, which is never followed: the key belongs to one server. */
  readonly location: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(
    message: string,
    call: FailedCall,
    answer: {
      readonly status: number;
      readonly location: string | null;
      readonly retryAfterMs: number | null;
    },
  ) {
    super(message, call);
    this.status = answer.status;
    this.location = answer.location;
    this.retryAfterSeconds = answer.retryAfterMs === null ? null : Math.ceil(answer.retryAfterMs / 1_000);
  }
}
