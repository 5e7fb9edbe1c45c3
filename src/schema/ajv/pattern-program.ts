/**
 * Compiles a regular expression of a tenant's schema into a program that runs in linear time.
 *
 * JavaScript's regex engine backtracks: `(a+)+$` on a 40-character input blocks the process for minutes, and no
 * static check of patterns finds every such case. Tenants' patterns therefore never run on it. They become the states
 * of a non-deterministic automaton, whose cost is bounded by text × program for every pattern (`matchesAnywhere`
 * follows all states at once). Features that an automaton cannot express are refused: backreferences, lookarounds,
 * inline flags.
 *
 * JavaScript's engine only matches single characters (`[^\p{L}a-z]`, `\d`, `.`): it cannot backtrack over one
 * character, and classes mean exactly what the standard says.
 */

/** Maximum length of a pattern, in characters. */
export const patternLengthMax = 200;
/** Counted repeats are expanded, so the short `(a{99}){99}` becomes large. */
const patternInstructionsMax = 4_000;

export type Instruction =
  | { readonly kind: "character"; readonly accepts: (codePoint: number) => boolean }
  /** Both branches are tried; -1 is replaced while the program is written. */
  | { readonly kind: "split"; first: number; second: number }
  | { readonly kind: "assert"; readonly assertion: Assertion }
  | { readonly kind: "match" };

type Assertion = "start" | "end" | "word_boundary" | "not_word_boundary";

type PatternProgram =
  | { readonly kind: "program"; readonly instructions: readonly Instruction[] }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Compiles a pattern with the semantics of JSON Schema: ECMA-262 with the `u` flag, matching anywhere unless anchored.
 */
export function compilePattern(pattern: string): PatternProgram {
  if (pattern.length > patternLengthMax) return refused(`is longer than ${patternLengthMax} characters`);
  if (!isValidSyntax(pattern)) return refused("is not a valid regular expression");
  try {
    const writer = new ProgramWriter();
    writer.write(new PatternReader(pattern).read());
    writer.add({ kind: "match" });
    return { kind: "program", instructions: writer.instructions };
  } catch (error) {
    if (error instanceof UnsupportedPattern) return refused(error.message);
    throw error;
  }
}

/** The expression is only constructed, never run. */
function isValidSyntax(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").unicode;
  } catch {
    return false;
  }
}

class UnsupportedPattern extends Error {}

function refused(reason: string): PatternProgram {
  return { kind: "refused", reason };
}

type Node =
  | { readonly kind: "atom"; readonly accepts: (codePoint: number) => boolean }
  | { readonly kind: "assertion"; readonly assertion: Assertion }
  | { readonly kind: "sequence"; readonly items: readonly Node[] }
  | { readonly kind: "choice"; readonly branches: readonly Node[] }
  | { readonly kind: "repeat"; readonly body: Node; readonly min: number; readonly max: number };

const quantifierToken = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;
const groupToken = /\((?:\?:|\?<(?![=!])[^>]*>|(?!\?))/y;
const assertionToken = /\^|\$|\\[bB]/y;
const atomToken =
  /\[(?:\\.|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u.{4}|\\x..|\\c.|\\.|./suy;

/** Parses text that is known to be a valid pattern. */
class PatternReader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  read(): Node {
    const branches = [this.#readSequence()];
    while (this.#source[this.#at] === "|") {
      this.#at += 1;
      branches.push(this.#readSequence());
    }
    return { kind: "choice", branches };
  }

  #readSequence(): Node {
    const items: Node[] = [];
    while (this.#at < this.#source.length && !")|".includes(this.#source[this.#at] ?? "")) {
      items.push(this.#readQuantifier(this.#readItem()));
    }
    return { kind: "sequence", items };
  }

  #readItem(): Node {
    const assertion = this.#take(assertionToken);
    if (assertion !== null) return { kind: "assertion", assertion: assertionOf(assertion[0]) };
    if (this.#source[this.#at] === "(") return this.#readGroup();
    const source = this.#take(atomToken)?.[0] ?? "";
    if (/^\\(?:[1-9]|k)/.test(source))
      throw new UnsupportedPattern("uses a backreference, which is not supported");
    return { kind: "atom", accepts: characterTest(source) };
  }

  #readGroup(): Node {
    if (this.#take(groupToken) === null) {
      throw new UnsupportedPattern("uses a lookahead, a lookbehind or inline flags, which are not supported");
    }
    const inner = this.read();
    this.#at += 1;
    return inner;
  }

  #readQuantifier(body: Node): Node {
    const token = this.#take(quantifierToken);
    if (token === null) return body;
    const [, symbol, least, comma, most] = token;
    if (symbol !== undefined) {
      return { kind: "repeat", body, min: symbol === "+" ? 1 : 0, max: symbol === "?" ? 1 : Infinity };
    }
    const min = Number(least);
    if (comma === undefined) return { kind: "repeat", body, min, max: min };
    return { kind: "repeat", body, min, max: most === undefined || most === "" ? Infinity : Number(most) };
  }

  #take(token: RegExp): RegExpExecArray | null {
    token.lastIndex = this.#at;
    const found = token.exec(this.#source);
    if (found !== null) this.#at = token.lastIndex;
    return found;
  }
}

function assertionOf(text: string): Assertion {
  if (text === "^") return "start";
  if (text === "$") return "end";
  return text === "\\b" ? "word_boundary" : "not_word_boundary";
}

const tooLarge = "is too large once its counted repeats are expanded";

class ProgramWriter {
  readonly instructions: Instruction[] = [];
  #writes = 0;

  add<Added extends Instruction>(instruction: Added): Added {
    if (this.instructions.length >= patternInstructionsMax) {
      throw new UnsupportedPattern(tooLarge);
    }
    this.instructions.push(instruction);
    return instruction;
  }

  write(node: Node): void {
    this.#writes += 1;
    // Counted separately from the instructions, because `((){9999}){9999}` expands without emitting any.
    if (this.#writes > 4 * patternInstructionsMax) throw new UnsupportedPattern(tooLarge);
    switch (node.kind) {
      case "atom":
        this.add({ kind: "character", accepts: node.accepts });
        return;
      case "assertion":
        this.add({ kind: "assert", assertion: node.assertion });
        return;
      case "sequence":
        for (const item of node.items) this.write(item);
        return;
      case "choice":
        this.#writeChoice(node.branches);
        return;
      case "repeat":
        this.#writeRepeat(node);
    }
  }

  #writeChoice(branches: readonly Node[]): void {
    const exits: Extract<Instruction, { kind: "split" }>[] = [];
    for (const [index, branch] of branches.entries()) {
      const fork = index < branches.length - 1 ? this.#addSplit() : null;
      this.write(branch);
      if (fork === null) break;
      exits.push(this.#addSplit());
      fork.second = this.instructions.length;
    }
    for (const exit of exits) {
      exit.first = this.instructions.length;
      exit.second = this.instructions.length;
    }
  }

  #writeRepeat(node: Extract<Node, { kind: "repeat" }>): void {
    for (let count = 0; count < node.min; count += 1) this.write(node.body);
    if (node.max === Infinity) {
      const start = this.instructions.length;
      const fork = this.#addSplit();
      this.write(node.body);
      const back = this.#addSplit();
      back.first = start;
      back.second = start;
      fork.second = this.instructions.length;
      return;
    }
    const forks: Extract<Instruction, { kind: "split" }>[] = [];
    for (let count = node.min; count < node.max; count += 1) {
      forks.push(this.#addSplit());
      this.write(node.body);
    }
    for (const fork of forks) fork.second = this.instructions.length;
  }

  /** The first branch is the next instruction by default. */
  #addSplit(): Extract<Instruction, { kind: "split" }> {
    return this.add({ kind: "split", first: this.instructions.length + 1, second: -1 });
  }
}

const asciiCount = 128;

/** Tests whether a character is accepted. Results for ASCII are cached, because most text is ASCII. */
function characterTest(source: string): (codePoint: number) => boolean {
  const native = new RegExp(`^(?:${source})$`, "u");
  const accepts = (codePoint: number) => native.test(String.fromCodePoint(codePoint));
  // 0 means unknown.
  const known = new Uint8Array(asciiCount);
  return (codePoint) => {
    if (codePoint >= asciiCount) return accepts(codePoint);
    if (known[codePoint] === 0) known[codePoint] = accepts(codePoint) ? 1 : 2;
    return known[codePoint] === 1;
  };
}

/** A position in a string: the characters on both sides, or -1 beyond an end. */
interface Position {
  readonly before: number;
  readonly after: number;
}

/** Counts the cost of matching; `spend` throws when the budget is used up. */
export interface Purse {
  spend(units: number): void;
}

/**
 * Whether the program matches anywhere in the text. Follows all states in parallel and visits each character once per
 * live state, so the cost is bounded by text × program. Each visit is charged as it happens.
 */
export function matchesAnywhere(instructions: readonly Instruction[], text: string, purse: Purse): boolean {
  const states = new StateSet(instructions);
  let before = -1;
  for (let index = 0; ; ) {
    const after = text.codePointAt(index) ?? -1;
    // A match may begin at any character, so add the first state at each character.
    states.enter(0, { before, after });
    purse.spend(1 + states.takeVisits());
    if (states.matched) return true;
    if (after === -1) return false;
    index += after > 0xffff ? 2 : 1;
    before = after;
    states.advance({ before, after: text.codePointAt(index) ?? -1 });
    purse.spend(states.takeVisits());
    if (states.matched) return true;
  }
}

/** The live states between two characters. */
class StateSet {
  readonly #instructions: readonly Instruction[];
  /** Live character instructions. */
  #alive: number[] = [];
  /** Round in which an instruction was last entered. Each instruction is entered once per round. */
  readonly #enteredAt: Uint32Array;
  #round = 1;
  #visits = 0;
  matched = false;

  constructor(instructions: readonly Instruction[]) {
    this.#instructions = instructions;
    this.#enteredAt = new Uint32Array(instructions.length);
  }

  /** States visited since the last call. */
  takeVisits(): number {
    const visits = this.#visits;
    this.#visits = 0;
    return visits;
  }

  /** Moves every state over the character before the new position. */
  advance(position: Position): void {
    const alive = this.#alive;
    this.#alive = [];
    this.#round += 1;
    this.#visits += alive.length;
    for (const at of alive) {
      const instruction = this.#instructions[at];
      if (instruction?.kind === "character" && instruction.accepts(position.before))
        this.enter(at + 1, position);
    }
  }

  /** Enters a state and all states that are reachable from it without consuming a character. */
  enter(first: number, position: Position): void {
    const waiting = [first];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const instruction = this.#instructions[at];
      if (instruction === undefined || this.#enteredAt[at] === this.#round) continue;
      this.#enteredAt[at] = this.#round;
      this.#visits += 1;
      if (instruction.kind === "match") this.matched = true;
      else if (instruction.kind === "character") this.#alive.push(at);
      else if (instruction.kind === "split") waiting.push(instruction.second, instruction.first);
      else if (holds(instruction.assertion, position)) waiting.push(at + 1);
    }
  }
}

function holds(assertion: Assertion, { before, after }: Position): boolean {
  switch (assertion) {
    case "start":
      return before === -1;
    case "end":
      return after === -1;
    case "word_boundary":
      return isWord(before) !== isWord(after);
    case "not_word_boundary":
      return isWord(before) === isWord(after);
    default:
      throw new TypeError("an unknown assertion", { cause: assertion satisfies never });
  }
}

function isWord(codePoint: number): boolean {
  return codePoint !== -1 && /\w/.test(String.fromCodePoint(codePoint));
}
