/**
 * Shared, because creating one for every response is expensive. Without `stream`, a decoder keeps no state between
 * calls.
 */
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Decodes a body, or its beginning, as human-readable text. The encoding is taken from the byte order mark, then from
 * the charset of the Content-Type, and otherwise guessed from the bytes. Never throws. A character that is truncated at
 * the end is omitted.
 */
export function bodyText(bytes: Uint8Array, contentType?: string): string {
  const label = markedCharset(bytes) ?? charsetOf(contentType) ?? unmarkedUtf16(bytes);
  if (label !== null && label !== "utf-8") return decoded(bytes, label);
  return wholeUtf8(bytes) ?? cutUtf8(bytes) ?? decoded(bytes, label ?? "windows-1252");
}

function wholeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** Null for bytes that are not UTF-8. Without a charset these are mostly Latin-1, the former default of HTTP. */
function cutUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return null;
  }
}

/** Null if the Content-Type has no charset or an unknown one. */
export function charsetOf(contentType: string | undefined): string | null {
  const name =
    contentType === undefined ? undefined : /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(contentType)?.[1];
  if (name === undefined) return null;
  if (name.toLowerCase() === "utf-8") return "utf-8";
  try {
    const { encoding } = new TextDecoder(name);
    return encoding;
  } catch {
    return null;
  }
}

function markedCharset(bytes: Uint8Array): string | null {
  const first = bytes[0];
  const second = bytes[1];
  const third = bytes[2];
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : null;
}

/** UTF-16 text that begins with two ASCII characters, as JSON, XML and HTML do. */
function unmarkedUtf16(bytes: Uint8Array): string | null {
  const first = bytes[0] ?? 0;
  const second = bytes[1] ?? 0;
  const third = bytes[2] ?? 0;
  const fourth = bytes[3] ?? 0;
  if (first !== 0 && second === 0 && third !== 0 && fourth === 0) return "utf-16le";
  return first === 0 && second !== 0 && third === 0 && fourth !== 0 ? "utf-16be" : null;
}

function decoded(bytes: Uint8Array, label: string): string {
  return new TextDecoder(label).decode(bytes, { stream: true });
}
