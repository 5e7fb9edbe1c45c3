import type { RequestBatch } from "./request-batch.ts";
import type { ResultBatch } from "./result-batch.ts";

/** Messages from the main thread to a sender. */
export type ToSender = RequestBatch | "ping" | "close";

/** Messages from a sender; `ready` comes first. */
export type FromSender = ResultBatch | "ready" | "pong" | "closed";

/** Start parameters of a sender. */
export interface SenderData {
  /** Parameters for the module that the thread runs. */
  readonly settings: unknown;
  /** Shared by all threads; each writes its number of open sockets into its slot. */
  readonly openSockets: Int32Array;
  readonly slot: number;
}
