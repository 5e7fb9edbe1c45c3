import { readHandlerAnswer, type MessageHandler, type StoredAnswer } from "./handler-answer.ts";
import { ReceiverError } from "./receiver-error.ts";
import type { VerifiedMessage } from "./message/verified-message.ts";

/**
 * Runs the handler and checks what it answers. Throws only ReceiverError: the one of the handler, or `handler_failed`
 * around anything else.
 */
export async function runHandler<Transaction>(
  handler: MessageHandler<Transaction>,
  received: VerifiedMessage<Transaction>,
  options: { readonly processedStatus: number | undefined },
): Promise<StoredAnswer> {
  try {
    return readHandlerAnswer(await handler(received), options.processedStatus);
  } catch (error) {
    if (error instanceof ReceiverError) throw error;
    throw new ReceiverError("handler_failed", "The handler threw.", { cause: error });
  }
}
