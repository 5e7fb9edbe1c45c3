/** A deliberately broken behaviour, and the test that must detect it. */
export interface Mutation {
  /** The requirements that the mutation breaks. */
  readonly ids: string;
  /** What is broken, in a few words. */
  readonly change: string;
  /** Path relative to the project. */
  readonly file: string;
  /** The text to be replaced, which occurs once in the file. */
  readonly find: string;
  readonly replace: string;
  /** A test file, which is run with `npm test -- FILE`. */
  readonly test: string;
  /** A part of the names of the tests to run. It must not match any other test. */
  readonly name: string;
}

/** The parts of a file before and after the text to be replaced. Throws unless that text occurs exactly once. */
export function aroundMutation({ ids, file, find }: Mutation, text: string): readonly [string, string] {
  const [before = "", after, ...more] = text.split(find);
  if (after !== undefined && more.length === 0) return [before, after];
  const count = text.split(find).length - 1;
  throw new Error(`${ids}: ${file} has the text to be replaced ${count} times, not once: ${find}`);
}
