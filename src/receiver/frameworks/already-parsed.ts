import { ReceiverError } from "../receiver-error.ts";

/**
 * A signature is about bytes, and somebody has turned them into something else (TS16-61). Only the application can mend
 * that, so the error shows how.
 */
export function alreadyParsed({
  by,
  remedy,
}: {
  readonly by: string;
  readonly remedy: string;
}): ReceiverError {
  return new ReceiverError(
    "body_already_parsed",
    `${by} has already read the body of this request, so its signature cannot be checked. ${remedy}`,
  );
}
