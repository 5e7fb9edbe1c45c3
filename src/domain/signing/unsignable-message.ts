/** A message that must not be signed. This is a bug in the caller, because Posthorn creates what it signs. */
export class UnsignableMessageError extends Error {
  override readonly name = "UnsignableMessageError";
  readonly code:
    | "message_id_invalid"
    | "timestamp_invalid"
    | "target_uri_invalid"
    | "field_invalid"
    | "no_keys";

  constructor(code: UnsignableMessageError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** Throws {@link UnsignableMessageError} unless `seconds` are whole Unix seconds. */
export function requireUnixSeconds(seconds: number): void {
  if (Number.isSafeInteger(seconds) && seconds >= 0) return;
  throw new UnsignableMessageError("timestamp_invalid", "a timestamp must be whole Unix seconds");
}
