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
