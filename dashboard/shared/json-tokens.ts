/**
 * Tokens of JSON text. Parsing into values would round numbers beyond 2^53, decode escapes and lose repeated names, so
 * pages show and copy pieces of the text.
 */

export type TokenKind = "name" | "text" | "number" | "word" | "mark" | "other";

export interface Token {
  readonly kind: TokenKind;
  /** Text of the token in the source. */
  readonly text: string;
}

const pattern = /\s+|"(?:[^"\\]|\\[^])*"?|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]|[^\s"{}[\],:]+/gy;

/** All tokens of any text, without white space between them. Invalid JSON becomes `other`. */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  for (const [text] of source.matchAll(pattern)) {
    if (text.trim() !== "") tokens.push({ kind: kindOf(text), text });
  }
  return tokens.map(({ kind, text }, index) => {
    const isName = kind === "text" && tokens[index + 1]?.text === ":";
    return { kind: isName ? "name" : kind, text };
  });
}

function kindOf(text: string): TokenKind {
  if (text.startsWith('"')) return text.length > 1 && text.endsWith('"') ? "text" : "other";
  if (/^[{}[\],:]$/.test(text)) return "mark";
  if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return "number";
  return /^(true|false|null)$/.test(text) ? "word" : "other";
}

export interface Piece extends Token {
  /** White space before the token: a line break with its indentation, one space, or nothing. */
  readonly space: string;
}

/** The tokens with white space for indented output. */
export function laidOut(tokens: readonly Token[]): Piece[] {
  let depth = 0;
  const breakLine = () => `\n${"  ".repeat(depth)}`;
  return tokens.map((token, index) => {
    const before = tokens[index - 1]?.text ?? "";
    const opens = before === "{" || before === "[";
    const closes = token.text === "}" || token.text === "]";
    if (closes) depth = Math.max(0, depth - 1);
    const isEmpty = opens && closes;
    const space = (): string => {
      if (index === 0 || isEmpty || token.text === "," || token.text === ":") return "";
      if (opens || closes || before === ",") return breakLine();
      return before === ":" ? " " : "";
    };
    const piece = { kind: token.kind, text: token.text, space: space() };
    if (token.text === "{" || token.text === "[") depth += 1;
    return piece;
  });
}

/** Indented text with all digits preserved. */
export function laidOutText(text: string): string {
  return laidOut(tokensOf(text))
    .map(({ space, text: piece }) => space + piece)
    .join("");
}

/** Raw text of a member of the outermost object, or null. For `data` in `{"data": 1.0}` it is `1.0`. */
export function memberText(source: string, { member }: { readonly member: string }): string | null {
  let depth = 0;
  let from: number | null = null;
  let name: string | null = null;
  for (const match of source.matchAll(pattern)) {
    const [text] = match;
    const at = match.index;
    const isEnd = depth === 1 && (text === "," || text === "}");
    if (isEnd && from !== null) return source.slice(from, at).trim();
    if (depth === 1 && text.startsWith('"') && from === null) name = text;
    if (depth === 1 && text === ":" && name === JSON.stringify(member)) from = at + 1;
    if (text === "{" || text === "[") depth += 1;
    if (text === "}" || text === "]") depth -= 1;
  }
  return null;
}

/** Raw text of the first item of a list, or null. For `[1.0, 2]` it is `1.0`. */
export function firstItemText(source: string): string | null {
  let depth = 0;
  let from = 0;
  for (const { 0: text, index } of source.matchAll(pattern)) {
    if (depth === 0 && text === "[") from = index + 1;
    if (depth === 1 && from > 0 && (text === "," || text === "]"))
      return source.slice(from, index).trim() || null;
    if (text === "{" || text === "[") depth += 1;
    if (text === "}" || text === "]") depth -= 1;
  }
  return null;
}
