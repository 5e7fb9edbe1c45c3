// docs/mutations.md.

import type { Mutation } from "./mutation.ts";

export const mutationsPage = "docs/mutations.md";

/** `red`: the named test noticed. `failed`: it could not be tried. */
export type MutationResult =
  | { readonly kind: "red" }
  | { readonly kind: "green" | "failed"; readonly detail: string };

/** The page of a run in which every row was red. */
export function writeMutationsPage(mutations: readonly Mutation[]): string {
  const rows = mutations.map(({ ids, change, file, test, name }) => {
    const links = ids
      .split(" ")
      .map((id) => `[${id}](conformance.md#${id.toLowerCase()})`)
      .join(", ");
    const testCell = `[${test}](../${test}): ${escape(name)}`;
    return `| ${links} | ${escape(change)} | [${file}](../${file}) | ${testCell} |`;
  });
  return `<!-- Written by npm run mutations after a run in which every row was red; do not edit. -->

# Mutations

A test proves a requirement only if it fails when the behaviour is broken. \`npm run mutations\` breaks the ${mutations.length} promises below one by one, in a copy of the project, and runs the test that is named beside it: first unbroken, which has to be green, then broken, which has to be red. This page is written only when all of them were. The rows are the hardest ones of each document; what is broken stands in \`scripts/mutations/\`.

| Requirements | What is broken | Where | The test that turned red |
| --- | --- | --- | --- |
${rows.join("\n")}
`;
}

function escape(text: string): string {
  return text.replaceAll(/[\\`*_<>[\]|]/g, String.raw`\$&`);
}
