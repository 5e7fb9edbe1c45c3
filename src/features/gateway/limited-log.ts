import type { Clock, Timer } from "../../ports/clock.ts";
import type { LogFields, Logger } from "../../ports/telemetry.ts";

/**
 * Formats errors for the gateway's log. Log lines must never contain payloads (EDS-11.6-2), but error messages may
 * quote them.
 */

/** Shorter parts of a payload reveal nothing. */
const payloadPartMin = 6;
const messageLengthMax = 500;
const framesMax = 3;

/**
 * The name, code and stack frames of an error, which identify it. The message is omitted, because it may quote stored
 * data.
 */
export function loggedError(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code } = error as { readonly code?: unknown };
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const name = typeof code === "string" ? `${error.name} (${code.slice(0, 64)})` : error.name;
  return [name, ...frames.slice(0, framesMax).map((frame) => frame.trim())].join(" ");
}

/** The message of an error. Every part that also occurs in the payload is masked. */
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

const windowMs = 60_000;
/** Maximum number of sources listed in the summary line. */
const sourcesMax = 20;

interface Window {
  readonly level: "warn" | "error";
  readonly sources: Map<string, number>;
  count: number;
  readonly timer: Timer;
}

/**
 * Limits log lines to one per minute for each message text. The first line is written immediately; the others are
 * counted in a summary.
 */
export class LimitedLog implements Logger {
  readonly #clock: Pick<Clock, "schedule">;
  readonly #log: Logger;
  /** Keyed by message text, of which only a few exist. */
  readonly #windows = new Map<string, Window>();

  constructor(clock: Pick<Clock, "schedule">, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  debug(fields: LogFields, message: string): void {
    this.#log.debug(fields, message);
  }

  info(fields: LogFields, message: string): void {
    this.#log.info(fields, message);
  }

  warn(fields: LogFields, message: string): void {
    this.#write("warn", fields, message);
  }

  error(fields: LogFields, message: string): void {
    this.#write("error", fields, message);
  }

  /** Writes pending summaries. */
  stop(): void {
    for (const [message, window] of this.#windows) {
      window.timer.cancel();
      this.#windows.delete(message);
      this.#writeCount(message, window);
    }
  }

  #write(level: Window["level"], fields: LogFields, message: string): void {
    const window = this.#windows.get(message);
    if (window === undefined) {
      this.#log[level](fields, message);
      this.#open(level, message);
      return;
    }
    window.count += 1;
    const { sourceId } = fields;
    if (typeof sourceId !== "string") return;
    const counted = window.sources.get(sourceId);
    if (counted !== undefined || window.sources.size < sourcesMax)
      window.sources.set(sourceId, (counted ?? 0) + 1);
  }

  #open(level: Window["level"], message: string): void {
    const timer = this.#clock.schedule(windowMs, () => this.#end(message));
    this.#windows.set(message, { level, sources: new Map(), count: 0, timer });
  }

  #end(message: string): void {
    const window = this.#windows.get(message);
    if (window === undefined) return;
    this.#windows.delete(message);
    if (window.count === 0) return;
    this.#writeCount(message, window);
    this.#open(window.level, message);
  }

  #writeCount(message: string, { level, sources, count }: Window): void {
    if (count === 0) return;
    this.#log[level](
      { count, seconds: windowMs / 1_000, sources: Object.fromEntries(sources) },
      `${message} (more)`,
    );
  }
}
