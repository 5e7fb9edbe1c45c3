// docs/mutations.md.

import { chosenByTrial, drawing, drawnRows, unbreakableRows } from "./drawn.ts";
import type { Mutation } from "./mutation.ts";

export const mutationsPage = "docs/mutations.md";

/** `red`: the named test noticed. `failed`: it could not be tried. */
export type MutationResult =
  | { readonly kind: "red" }
  | { readonly kind: "green" | "failed"; readonly detail: string };

/** The page of a run in which every row was red. */
export function writeMutationsPage(mutations: readonly Mutation[]): string {
  const rows = mutations.map(({ ids, change, file, test, name }) => {
    const links = ids.split(" ").map(linkTo).join(", ");
    const testCell = `[${test}](../${test}): ${escape(name)}`;
    return `| ${links} | ${escape(change)} | [${file}](../${file}) | ${testCell} |`;
  });
  const unbreakable = [...unbreakableRows].map(([id, reason]) => `- ${linkTo(id)}: ${reason}.`);
  return `<!-- Written by npm run mutations after a run in which every row was red; do not edit. -->

# Mutations

A test proves a requirement only if it fails when the behaviour is broken. \`npm run mutations\` breaks the ${mutations.length} promises below one by one, in a copy of the project, and runs the test named in its row: first on the unbroken copy, which must be green, then on the broken one, which must be red. This page is written only if all rows were red. The changes are defined in \`scripts/mutations/\`.

The rows come from three sources:

- the hardest rows of each document;
- ${countOf(chosenByTrial)} rows that an outside trial found badly proved;
- ${countOf(drawnRows)} rows drawn at random, with the seed ${drawing.seed}, from the ${drawing.rows} rows that had a test and no mutation. \`npm run mutations -- --draw\` draws in the same way from the rows that have no mutation today.

\`npm run check\` requires a mutation for each row of the last two sources, except these, which no change of the code can break:

${unbreakable.join("\n")}

| Requirements | What is broken | Where | The test that turned red |
| --- | --- | --- | --- |
${rows.join("\n")}
`;
}

function linkTo(id: string): string {
  return `[${id}](conformance.md#${id.toLowerCase()})`;
}

function countOf(ids: string): number {
  return ids.split(" ").length;
}

function escape(text: string): string {
  return text.replaceAll(/[\\`*_<>[\]|]/g, String.raw`\$&`);
}
