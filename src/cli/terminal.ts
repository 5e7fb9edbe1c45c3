import { type InspectColor, styleText } from "node:util";

/** A stream as far as commands care. */
interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/**
 * Where a command writes: data on standard output, everything else on standard error. Colour only where a terminal
 * reads it, and never with NO_COLOR.
 */
export class Terminal {
  readonly json: boolean;
  /** What is shown of a row; null for what the command thinks best. */
  readonly fields: readonly string[] | null;
  readonly #out: Stream;
  readonly #err: Stream;
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(options: {
    readonly json: boolean;
    readonly fields?: readonly string[] | null;
    readonly out: Stream;
    readonly err: Stream;
    readonly env: Readonly<Record<string, string | undefined>>;
  }) {
    this.json = options.json;
    this.fields = options.fields ?? null;
    this.#out = options.out;
    this.#err = options.err;
    this.#env = options.env;
  }

  /** Whether progress may redraw a line. */
  get isLive(): boolean {
    return this.#err.isTTY === true && this.#env["TERM"] !== "dumb";
  }

  get outColumns(): number | undefined {
    return this.#out.isTTY === true ? this.#out.columns : undefined;
  }

  data(line: string): void {
    this.#out.write(`${printable(line, this.#mayPaint(this.#out))}\n`);
  }

  /** One object a line, for programs. */
  object(value: unknown): void {
    this.#out.write(`${jsonLine(value)}\n`);
  }

  note(line: string): void {
    this.#err.write(`${printable(line, this.#mayPaint(this.#err))}\n`);
  }

  /** Begins a new screen where somebody looks at one. */
  clear(): void {
    if (this.#out.isTTY === true) this.#out.write("\u001b[2J\u001b[3J\u001b[H");
  }

  /** Replaces the line that the last `redraw` wrote; an empty text removes it. */
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

/** The styles that commands use: `styleText` writes these and no others. Hidden or blinking text is not among them. */
const ownStyle = /^.\[(?:0|1|2|4|22|24|3[0-79]|9[0-7])m$/;

/**
 * Text of servers and receivers must not move the cursor, set the title or hide lines of a terminal: every control character
 * but line breaks and tabs becomes a dot, and so does an escape sequence that is no style of ours.
 */
function printable(text: string, mayStyle = false): string {
  return text.replaceAll(/\p{Cc}(?:\[\d{1,2}m)?/gu, (found) => {
    const isKept = found.startsWith("\u001b")
      ? mayStyle && ownStyle.test(found)
      : found.startsWith("\n") || found.startsWith("\t");
    return isKept ? found : `\u00b7${found.slice(1)}`;
  });
}

/** JSON leaves DEL and the C1 controls as they are, and some terminals obey them. */
function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\u009f]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
