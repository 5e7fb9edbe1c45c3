/** Errors as the gateway's log may show them: payloads are in no line of it (EDS-11.6-2), and messages of errors quote. */

/** Texts of a payload that are shorter say nothing of it. */
const payloadPartMin = 6;
const messageLengthMax = 500;
const framesMax = 3;

/** Without the message, which may quote what was stored: name, code and place are what tells errors apart. */
export function loggedError(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code } = error as { readonly code?: unknown };
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const name = typeof code === "string" ? `${error.name} (${code.slice(0, 64)})` : error.name;
  return [name, ...frames.slice(0, framesMax).map((frame) => frame.trim())].join(" ");
}

/** The message of an error without what the payload holds too. */
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
