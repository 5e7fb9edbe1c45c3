import type { ReceivedMessage, Verification } from "./message.ts";
import { ReceiverError } from "../receiver-error.ts";

/** An authentic message, as handlers get it, at once or out of the inbox. */
export interface VerifiedMessage<Transaction = undefined> {
  readonly message: ReceivedMessage;
  /** How it was verified, such as `v1a` or `github`. */
  readonly scheme: string;
  /** Who sent it: the name under which the key or token was configured (EDS-9.4-6). */
  readonly producer: string;
  /** The sender's id of the message, as far as the scheme signs one. */
  readonly messageId: string | null;
  /** Signed time, Unix seconds. */
  readonly timestampSeconds: number | null;
  /** What repetitions of this message have in common; null without one, and without deduplication. */
  readonly key: string | null;
  /** Unix ms. */
  readonly receivedAt: number;
  /** 1, or in the inbox how often a handler has been started for it. */
  readonly attempt: number;
  /** Aborted when the time for the handler is over. What the handler does after that is not answered any more. */
  readonly signal: AbortSignal;
  /** The open transaction when the receiver runs handlers in one, else undefined. */
  readonly transaction: Transaction;
  /** The body as UTF-8. Throws ReceiverError `invalid_message` when it is not. */
  text(): string;
  /** The body as JSON. Throws ReceiverError `invalid_message` when it is not; the answer is then 400 (C-25). */
  json(): unknown;
}

export type AcceptedVerification = Extract<Verification, { readonly kind: "verified" }>;

/** Everything of a {@link VerifiedMessage} that is data, so that it can be stored and made again. */
export type MessageFacts = Omit<VerifiedMessage, "text" | "json" | "signal" | "transaction">;

/** Adds what a handler needs beside the facts. */
export function verifiedMessage<Transaction>(
  facts: MessageFacts,
  run: { readonly signal: AbortSignal; readonly transaction: Transaction },
): VerifiedMessage<Transaction> {
  const text = (): string => decodeUtf8(facts.message.body);
  return { ...facts, ...run, text, json: () => parseJson(text()) };
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
