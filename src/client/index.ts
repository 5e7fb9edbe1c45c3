/**
 * The package `@posthorn/client`: Posthorn's HTTP API for applications, on every platform with the Fetch API and
 * WebCrypto. The outbox and its stores have separate entry points.
 */
export type * from "./api-types.ts";
export type { CallContent, CallOptions, ConnectionOptions } from "./caller.ts";
export type { AnyEvents, BatchResult, Client, EventOf, Publishing, RawEvent } from "./client.ts";
export { createClient } from "./client.ts";
export type { ErrorCode, FailedCall } from "./client-error.ts";
export { ApiError, PosthornClientError, UnansweredError, UnexpectedAnswerError } from "./client-error.ts";
export type { Deliveries, Operations, Pages, Resources } from "./calls.ts";
export type { RetryOptions } from "./caller.ts";
export type { StreamedEvent, StreamOptions } from "./stream.ts";
