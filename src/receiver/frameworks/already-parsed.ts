import { ReceiverError } from "../receiver-error.ts";

/**
 * A signature covers bytes, but the body has already been converted. Only the application can fix that, so the error
 * shows how.
 */
export function alreadyParsed(by: string, remedy: string): ReceiverError {
  return new ReceiverError(
    "body_already_parsed",
    `${by} has already read the body of this request, so its signature cannot be verified. ${remedy}`,
  );
}
