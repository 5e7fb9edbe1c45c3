import type { ReceivedMessage, Verification } from "./message.ts";
import { ReceiverError } from "../receiver-error.ts";

/** An authentic message as handlers get it, immediately or from the inbox. */
export interface VerifiedMessage<Transaction = undefined> {
  readonly message: ReceivedMessage;
  /** How it was verified, such as `v1a` or `github`. */
  readonly scheme: string;
  /** The sender: the name under which the key or token was configured. */
  readonly producer: string;
  /** The sender's id of the message, if the scheme signs one. */
  readonly messageId: string | null;
  /** Signed time, Unix seconds. */
  readonly timestampSeconds: number | null;
  /** The key shared by repeated messages; null if there is none, and without deduplication. */
  readonly key: string | null;
  /** Unix ms. */
  readonly receivedAt: number;
  /** 1, or in the inbox the number of times a handler was started for it. */
  readonly attempt: number;
  /** Aborted when the handler's time limit is exceeded. Results after that are not sent. */
  readonly signal: AbortSignal;
  /** The open transaction if the receiver runs handlers in one, otherwise undefined. */
  readonly transaction: Transaction;
  /** The body as UTF-8. Throws ReceiverError `invalid_message` if it is not valid. */
  text(): string;
  /** The body as JSON. Throws ReceiverError `invalid_message` if it is not valid; the response is then 400. */
  json(): unknown;
}

export type AcceptedVerification = Extract<Verification, { readonly kind: "verified" }>;

/** The storable data of a {@link VerifiedMessage}, from which it can be recreated. */
export type MessageFacts = Omit<VerifiedMessage, "text" | "json" | "signal" | "transaction">;

/** Adds the functions and the context that a handler needs. */
export function verifiedMessage<Transaction>(
  facts: MessageFacts,
  signal: AbortSignal,
  transaction: Transaction,
): VerifiedMessage<Transaction> {
  const text = (): string => decodeUtf8(facts.message.body);
  return { ...facts, signal, transaction, text, json: () => parseJson(text()) };
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new ReceiverError("invalid_message", "The body is not valid UTF-8.", { cause });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ReceiverError("invalid_message", "The body is not valid JSON.", { cause });
  }
}
