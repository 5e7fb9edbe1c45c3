/** The bundler takes the programs of the section "Verify" out of a page of docs/languages. */
declare module "*.md" {
  export const programs: readonly {
    readonly name: string;
    readonly code: string;
    /** By the tests. */
    readonly isExecuted: boolean;
  }[];
}
