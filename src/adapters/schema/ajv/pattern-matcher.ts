import type { Assertion, Instruction } from "./pattern-program.ts";

/** A position in a text: the characters on both sides, or -1 beyond an end. */
interface Position {
  readonly before: number;
  readonly after: number;
}

/** Counts the cost of matching; `spend` throws when the budget is used up. */
export interface Purse {
  spend(units: number): void;
}

/**
 * Whether the program matches anywhere in the text. Follows all states at once: it visits each character once per live
 * state. So the cost is bounded by text × program, and is charged as it arises.
 */
export function matchesAnywhere(instructions: readonly Instruction[], text: string, purse: Purse): boolean {
  const states = new StateSet(instructions);
  let before = -1;
  for (let index = 0; ; ) {
    const after = text.codePointAt(index) ?? -1;
    // A match may begin at any character, so add the first state at each.
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
  /** Round in which an instruction was last entered. Each is entered once per round. */
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

  /** Enters a state and all states reachable from it without consuming a character. */
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
