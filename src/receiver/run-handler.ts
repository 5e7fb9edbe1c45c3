import { readHandlerAnswer, type MessageHandler, type StoredAnswer } from "./handler-answer.ts";
import { ReceiverError } from "./receiver-error.ts";
import type { VerifiedMessage } from "./message/verified-message.ts";

/**
 * Runs the handler and validates its result. Throws only ReceiverError: the handler's own, or `handler_failed` for any
 * other error.
 */
export async function runHandler<Transaction>(
  handler: MessageHandler<Transaction>,
  received: VerifiedMessage<Transaction>,
  processedStatus: number | undefined,
): Promise<StoredAnswer> {
  try {
    return readHandlerAnswer(await handler(received), processedStatus);
  } catch (error) {
    if (error instanceof ReceiverError) throw error;
    throw new ReceiverError("handler_failed", "The handler threw.", { cause: error });
  }
}
