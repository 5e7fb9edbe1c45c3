import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckResult } from "../check.ts";
import { projectRoot } from "../source-files.ts";
import { cewMutations } from "./cew.ts";
import { edsMutations } from "./eds.ts";
import { idkMutations } from "./idk.ts";
import { chosenByTrial, drawnRows, unbreakableRows } from "./drawn.ts";
import { aroundMutation, type Mutation } from "./mutation.ts";
import { ts16Mutations } from "./ts16.ts";
import { wdsMutations } from "./wds.ts";

export const allMutations: readonly Mutation[] = [
  ...edsMutations,
  ...ts16Mutations,
  ...idkMutations,
  ...cewMutations,
  ...wdsMutations,
];

/** Whether each can still be made: a change of the code may take away what it replaces. */
export function checkMutations(): CheckResult {
  const problems: string[] = [];
  for (const mutation of allMutations) {
    try {
      aroundMutation(mutation, readFileSync(join(projectRoot, mutation.file), "utf8"));
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  const broken = new Set(allMutations.flatMap(({ ids }) => ids.split(" ")));
  for (const id of [...chosenByTrial.split(" "), ...drawnRows.split(" ")])
    if (!broken.has(id) && !unbreakableRows.has(id))
      problems.push(
        `${id} has neither a mutation nor a sentence in unbreakableRows (scripts/mutations/drawn.ts)`,
      );
  return { problems, note: `${allMutations.length} mutations` };
}
