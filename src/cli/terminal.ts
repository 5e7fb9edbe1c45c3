import { type InspectColor, styleText } from "node:util";
import type { Invocation } from "./invocation.ts";

const signals = ["SIGINT", "SIGTERM"] as const;
/** Exit status after a signal. By shell convention, it is 128 plus the signal number. */
const statusOf: Readonly<Record<(typeof signals)[number], number>> = { SIGINT: 130, SIGTERM: 143 };

/** Resolves at the first signal. A second signal ends the process immediately. */
export function untilStopped(invocation: Invocation): Promise<string> {
  return new Promise((resolve) => {
    let isFirst = true;
    const receive = (signal: (typeof signals)[number]): void => {
      if (!isFirst) invocation.exit(statusOf[signal]);
      isFirst = false;
      resolve(signal);
    };
    for (const signal of signals) process.on(signal, receive);
  });
}

/** The part of a stream that commands use. */
interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/**
 * Output of a command: data is written to standard output, everything else to standard error. Colours are used only on
 * terminals and without NO_COLOR.
 */
export class Terminal {
  readonly json: boolean;
  /** Selected fields. Null for the default fields of the command. */
  readonly fields: readonly string[] | null;
  readonly #out: Stream;
  readonly #err: Stream;
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(
    out: Stream,
    err: Stream,
    env: Readonly<Record<string, string | undefined>>,
    json: boolean,
    fields: readonly string[] | null = null,
  ) {
    this.#out = out;
    this.#err = err;
    this.#env = env;
    this.json = json;
    this.fields = fields;
  }

  /** Whether progress may overwrite a line. */
  get isLive(): boolean {
    return this.#err.isTTY === true && this.#env["TERM"] !== "dumb";
  }

  get outColumns(): number | undefined {
    return this.#out.isTTY === true ? this.#out.columns : undefined;
  }

  data(line: string): void {
    this.#out.write(`${printable(line, this.#mayPaint(this.#out))}\n`);
  }

  /** Writes one JSON object per line. */
  object(value: unknown): void {
    this.#out.write(`${jsonLine(value)}\n`);
  }

  note(line: string): void {
    this.#err.write(`${printable(line, this.#mayPaint(this.#err))}\n`);
  }

  /** Clears the screen of a terminal. */
  clear(): void {
    if (this.#out.isTTY === true) this.#out.write("\u001b[2J\u001b[3J\u001b[H");
  }

  /** Replaces the line written by the last `redraw`. An empty text removes the line. */
  redraw(line: string): void {
    this.#err.write(`\r\u001b[2K${printable(line, this.#mayPaint(this.#err))}`);
  }

  outStyle(style: InspectColor, text: string): string {
    return this.#paint(this.#out, style, text);
  }

  errStyle(style: InspectColor, text: string): string {
    return this.#paint(this.#err, style, text);
  }

  get colour(): boolean {
    return this.#mayPaint(this.#err);
  }

  #paint(stream: Stream, style: InspectColor, text: string): string {
    return this.#mayPaint(stream) ? styleText(style, text, { validateStream: false }) : text;
  }

  #mayPaint(stream: Stream): boolean {
    const { NO_COLOR: noColour, TERM: term } = this.#env;
    return stream.isTTY === true && (noColour === undefined || noColour === "") && term !== "dumb";
  }
}

/** Escape sequences of styles that `styleText` writes for commands. Hidden and blinking text is not included. */
const ownStyle = /^.\[(?:0|1|2|4|22|24|3[0-79]|9[0-7])m$/;

/**
 * Replaces control characters with a dot, except line breaks, tabs and our own styles. Untrusted text must not move the
 * cursor, set the title or hide lines.
 */
function printable(text: string, mayStyle = false): string {
  return text.replaceAll(/\p{Cc}(?:\[\d{1,2}m)?/gu, (found) => {
    const isKept = found.startsWith("\u001b")
      ? mayStyle && ownStyle.test(found)
      : found.startsWith("\n") || found.startsWith("\t");
    return isKept ? found : `\u00b7${found.slice(1)}`;
  });
}

/** Escapes DEL and C1 controls, which JSON does not escape and some terminals interpret. */
function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\u009f]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
