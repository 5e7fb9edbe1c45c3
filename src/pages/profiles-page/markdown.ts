/** A Markdown table; cells must not contain line breaks. */
export function markdownTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(" | ")} |`;
  return [line(titles), `|${"---|".repeat(titles.length)}`, ...rows.map(line)].join("\n");
}

function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|");
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** `90000` as `1 min 30 s`. */
export function durationText(durationMs: number): string {
  const parts: string[] = [];
  let restMs = durationMs;
  for (const [unit, unitMs] of units) {
    const count = Math.floor(restMs / unitMs);
    if (count > 0) parts.push(`${count} ${unit}`);
    restMs -= count * unitMs;
  }
  if (restMs > 0) parts.push(`${restMs} ms`);
  return parts.length === 0 ? "0 s" : parts.join(" ");
}

/** Hours, minutes and seconds, as in schedule tables: `75:35:05`. */
export function clockText(durationMs: number): string {
  const seconds = Math.round(durationMs / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}
