// Import direction (design.md section 3): runs dependency-cruiser with the rules of .dependency-cruiser.mjs.
//
// dependency-cruiser needs the compiler API of a `typescript` below 7, which TypeScript 7 does not have. It gets
// TypeScript 6 from the package @typescript/typescript6: a resolve hook, for this process only, is all it takes.

import { registerHooks } from "node:module";
import { join } from "node:path";
import type { CheckResult } from "./check.ts";
import { codeFolders, projectRoot } from "./source-files.ts";

let hooked = false;

function lendTypeScript6(): void {
  if (hooked) return;
  hooked = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const isCompiler = specifier === "typescript" || specifier === "typescript/package.json";
      return nextResolve(
        isCompiler ? `@typescript/${specifier.replace("typescript", "typescript6")}` : specifier,
        context,
      );
    },
  });
}

export async function checkImports(): Promise<CheckResult> {
  lendTypeScript6();
  const [{ cruise }, { default: readConfiguration }] = await Promise.all([
    import("dependency-cruiser"),
    import("dependency-cruiser/config-utl/extract-depcruise-options"),
  ]);
  const options = await readConfiguration(join(projectRoot, ".dependency-cruiser.mjs"));
  const { output } = await cruise([...codeFolders], { ...options, baseDir: projectRoot });
  if (typeof output === "string")
    throw new TypeError("dependency-cruiser answered with text instead of data");
  const { summary } = output;
  const compiler = summary.environment?.transpilersFound.find(({ name }) => name === "typescript");
  if (compiler?.available !== true) {
    return { problems: ["dependency-cruiser found no TypeScript compiler, so it saw no imports"] };
  }
  return {
    problems: summary.violations.map(({ rule, from, to, cycle }) => {
      const path = cycle === undefined ? [from, to] : [from, ...cycle.map(({ name }) => name)];
      return `${rule.name}: ${from === to ? from : path.join(" -> ")}`;
    }),
    note: `${summary.totalCruised} modules, ${summary.totalDependenciesCruised} imports`,
  };
}
