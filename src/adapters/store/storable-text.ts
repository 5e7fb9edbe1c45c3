/** PostgreSQL cannot store U+0000, which receivers may send: it becomes U+FFFD. */
export function storable(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text;
}

/**
 * Makes every text of a JSON document readable for PostgreSQL: escaped halves of surrogate pairs and escaped U+0000
 * become U+FFFD. `JSON.stringify` writes both as escapes, so older versions stored them.
 */
export function storableDocument(document: string): string {
  if (!document.includes("\\u")) return document;
  return document.replaceAll(escapes, (escape: string, isPair?: string, isRefused?: string) =>
    isPair === undefined && isRefused !== undefined ? "\\ufffd" : escape,
  );
}

/** Matches one escape at a time, so that an escaped backslash before `ud800` is not mistaken for one. */
const escapes =
  /\\(?:(u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})|(u[dD][89a-fA-F][\da-fA-F]{2}|u0000)|.)/gs;
