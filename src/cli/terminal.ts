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
    this.#out.write(`${line}\n`);
  }

  /** One object a line, for programs. */
  object(value: unknown): void {
    this.data(JSON.stringify(value));
  }

  note(line: string): void {
    this.#err.write(`${line}\n`);
  }

  /** Begins a new screen where somebody looks at one. */
  clear(): void {
    if (this.#out.isTTY === true) this.#out.write("\u001b[2J\u001b[3J\u001b[H");
  }

  /** Replaces the line that the last `redraw` wrote; an empty text removes it. */
  redraw(line: string): void {
    this.#err.write(`\r\u001b[2K${line}`);
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
