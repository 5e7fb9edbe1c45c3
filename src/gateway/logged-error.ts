/**
 * Formats errors for the gateway's log. Log lines never contain payloads (EDS-11.6-2), and error messages may quote
 * them.
 */

/** Shorter parts of a payload reveal nothing. */
const payloadPartMin = 6;
const messageLengthMax = 500;
const framesMax = 3;

/** Omits the message, which may quote stored data: name, code and stack frames identify an error. */
export function loggedError(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code } = error as { readonly code?: unknown };
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const name = typeof code === "string" ? `${error.name} (${code.slice(0, 64)})` : error.name;
  return [name, ...frames.slice(0, framesMax).map((frame) => frame.trim())].join(" ");
}

/** The message of an error, with all parts masked that also occur in the payload. */
export function withoutPayload(error: unknown, payload: Uint8Array): string {
  const message = String(error).slice(0, messageLengthMax);
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString("utf8");
  let shown = "";
  let at = 0;
  while (at < message.length) {
    let length = 0;
    if (text.includes(message.slice(at, at + payloadPartMin)) && at + payloadPartMin <= message.length) {
      length = payloadPartMin;
      while (at + length < message.length && text.includes(message.slice(at, at + length + 1))) length += 1;
    }
    shown += length === 0 ? (message[at] ?? "") : "…";
    at += Math.max(1, length);
  }
  return shown;
}
