/** Reads a text from left to right. Every method that can fail leaves the position at the failure. */
export class Scanner {
  readonly text: string;
  position = 0;

  constructor(text: string) {
    this.text = text;
  }

  get isAtEnd(): boolean {
    return this.position >= this.text.length;
  }

  /** The next character; empty at the end. */
  peek(): string {
    return this.text.charAt(this.position);
  }

  /** Consumes `character` if it is next. */
  take(character: string): boolean {
    if (this.peek() !== character) return false;
    this.position += 1;
    return true;
  }

  /** Consumes and returns what `pattern` (must be sticky) matches here; null if it does not match. */
  match(pattern: RegExp): string | null {
    pattern.lastIndex = this.position;
    const text = pattern.exec(this.text)?.[0];
    if (text === undefined) return null;
    this.position += text.length;
    return text;
  }

  skipSpaces(): void {
    while (this.take(" "));
  }

  /** Optional white space between members: spaces and tabs. */
  skipOptionalWhiteSpace(): void {
    while (this.take(" ") || this.take("\t"));
  }
}
