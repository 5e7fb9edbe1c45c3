/** Tables for spreadsheets. */

/** As RFC 4180 has it. What a spreadsheet would take for a formula gets a quote before it, so that it stays text. */
export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");
}

/**
 * Where a formula may begin: at the start of a cell, after white space, quotes and invisible characters. A spreadsheet that
 * separates cells by semicolons, tabs or pipes begins a cell after each of these, and after a line break, also within quotes.
 * Full-width signs and the minus sign of typography count as well.
 */
const atStart = /^([\s\p{Cc}\p{Cf}"']*)([=+\-@\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b])/u;
const afterSeparator =
  /([;|\t\r\n])([\s\p{Cc}\p{Cf}"']*)([=+\-@\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b])/gu;

function cellOf(text: string): string {
  const inner = text.replaceAll(afterSeparator, "$1$2'$3");
  const harmless = atStart.test(inner) || /^[\t\r\n]/.test(inner) ? `'${inner}` : inner;
  return /[",;|\t\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
