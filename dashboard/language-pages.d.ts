/** The bundler extracts the programs in the "Verify" section of a page in docs/languages. */
declare module "*.md" {
  export const programs: readonly {
    readonly name: string;
    readonly code: string;
    /** True if the tests run this program. */
    readonly isExecuted: boolean;
  }[];
}
