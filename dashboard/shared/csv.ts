/** CSV according to RFC 4180. Potential formulas are prefixed with a quote, so that spreadsheets treat them as text. */
export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");
}

/**
 * A formula can start at the beginning of a cell, after white space, quotes and invisible characters. Spreadsheets
 * that split cells at semicolons, tabs or pipes start a cell after each of these and after line breaks, even within
 * quotes. Full-width characters and the typographic minus sign count too.
 */
const atStart = /^([\s\p{Cc}\p{Cf}"']*)([=+\-@\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b])/u;
const afterSeparator =
  /([;|\t\r\n])([\s\p{Cc}\p{Cf}"']*)([=+\-@\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b])/gu;

function cellOf(text: string): string {
  const inner = text.replaceAll(afterSeparator, "$1$2'$3");
  const harmless = atStart.test(inner) || /^[\t\r\n]/.test(inner) ? `'${inner}` : inner;
  return /[",;|\t\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
