import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckResult } from "../check.ts";
import { projectRoot } from "../source-files.ts";
import { cewMutations } from "./cew.ts";
import { edsMutations } from "./eds.ts";
import { idkMutations } from "./idk.ts";
import type { Mutation } from "./mutation.ts";
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
  const problems = allMutations.flatMap(({ ids, file, find }) => {
    const count = readFileSync(join(projectRoot, file), "utf8").split(find).length - 1;
    return count === 1
      ? []
      : [`${ids}: ${file} has the text to be replaced ${count} times, not once: ${find}`];
  });
  return { problems, note: `${allMutations.length} mutations` };
}
