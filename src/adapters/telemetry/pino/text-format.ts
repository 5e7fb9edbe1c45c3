/** A log line for people: time, level, message, then the fields as `name=value`. */

export interface LineStyle {
  readonly colour: boolean;
}

const levels: Readonly<Record<number, { readonly label: string; readonly code: number }>> = {
  20: { label: "debug", code: 90 },
  30: { label: "info ", code: 32 },
  40: { label: "warn ", code: 33 },
  50: { label: "error", code: 31 },
};

/** Formats one line of pino's JSON as text, with a line break at the end. A stack trace follows indented. */
export function formatLine(json: string, style: LineStyle): string {
  const { level, time, msg, stack, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const { label, code } = levels[Number(level)] ?? { label: String(level), code: 0 };
  const clock = String(time).slice(11, 23);
  const rest = Object.entries(fields).map(([name, value]) => paint(` ${name}=${shown(value)}`, 90, style));
  const below = typeof stack === "string" ? `\n${stack.replaceAll(/^/gm, "    ")}` : "";
  return `${paint(clock, 90, style)} ${paint(label, code, style)} ${plain(String(msg))}${rest.join("")}${below}\n`;
}

function shown(value: unknown): string {
  if (typeof value === "string") return /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value) ?? "undefined";
}

/** Text from a receiver or publisher must not move the cursor in the reader's terminal. */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (character) => (character === "\n" ? "\n" : "·"));
}

function paint(text: string, code: number, style: LineStyle): string {
  return style.colour && code !== 0 ? `\u001b[${code}m${text}\u001b[39m` : text;
}
