import type { RequestBatch } from "./request-batch.ts";
import type { ResultBatch } from "./result-batch.ts";

/** What the main thread says to a sender. */
export type ToSender = RequestBatch | "ping" | "close";

/** What a sender answers; `ready` before anything else. */
export type FromSender = ResultBatch | "ready" | "pong" | "closed";

/** What a sender is given at its start. */
export interface SenderData {
  /** For the module that the thread runs. */
  readonly settings: unknown;
  /** Shared by all threads; each writes the count of its sockets into its slot. */
  readonly openSockets: Int32Array;
  readonly slot: number;
}
