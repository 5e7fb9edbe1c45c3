/** One behaviour broken on purpose, and the test that must notice. */
export interface Mutation {
  /** The requirements that are broken by it. */
  readonly ids: string;
  /** What is broken, in a few words. */
  readonly change: string;
  /** Relative to the project. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly find: string;
  readonly replace: string;
  /** A test file that `npm test -- FILE` runs. */
  readonly test: string;
  /** A part of the names of the tests that are run; it matches nothing else. */
  readonly name: string;
}

/** What of a file stands before and after the text to be replaced. Throws when that does not occur exactly once. */
export function aroundMutation({ ids, file, find }: Mutation, text: string): readonly [string, string] {
  const [before = "", after, ...more] = text.split(find);
  if (after !== undefined && more.length === 0) return [before, after];
  const count = text.split(find).length - 1;
  throw new Error(`${ids}: ${file} has the text to be replaced ${count} times, not once: ${find}`);
}
