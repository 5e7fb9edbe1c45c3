// The static checks of `npm test`, in the order in which they run. Those that find problems most often come first.

import { existsSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Check, CheckResult } from "./check.ts";
import { checkClientTypes } from "./client-types.ts";
import { checkConformance } from "./conformance.ts";
import { checkLockFile } from "./lock-file.ts";
import { outputOf } from "./program-output.ts";
import { codeFolders, projectRoot } from "./source-files.ts";
import { tidyRules } from "./tidy.ts";

export const checks: readonly Check[] = [
  typeCheck("types", "tsconfig.json", ""),
  typeCheck("types-published", "tsconfig.build.json", " of the published package (language of Node 24)"),
  typeCheck("types-receiver", "tsconfig.receiver.json", " of @posthorn/receiver (language of Node 20)"),
  typeCheck("types-client", "tsconfig.client.json", " of @posthorn/client (language of Node 20)"),
  typeCheck("types-dashboard", "dashboard/tsconfig.json", " of the dashboard (a browser)"),
  {
    name: "lint",
    title: "lint",
    // Reduces the frequency of garbage collection, which saves a fifth of the CPU time for a tenth more memory.
    run: () =>
      tool("oxlint/bin/oxlint", ["--type-aware", "--deny-warnings", "--report-unused-disable-directives"], {
        GOGC: "300",
      }),
  },
  {
    name: "format",
    title: "format (npm run format repairs it)",
    run: () => tool("@biomejs/biome/bin/biome", ["format", "--max-diagnostics=50"]),
  },
  {
    name: "exports",
    title: "no unused exports or files",
    run: () => tool("knip/bin/knip.js", ["--no-progress", "--include", "exports,types,files"]),
  },
  { name: "imports", title: "import direction", run: checkImports },
  ...tidyRules.map(({ name, title, run }) => ({ name: `tidy-${name}`, title: `tidy: ${title}`, run })),
  { name: "requirements", title: "conformance page", run: checkConformance },
  {
    name: "client-types",
    title: "types of the client (npm run client-types repairs them)",
    run: checkClientTypes,
  },
  { name: "lock", title: "lock file", run: checkLockFile },
];

/** With more threads, each thread would compute the types of packages again, which takes a third more CPU time. */
function typeCheck(name: string, project: string, what: string): Check {
  const pretty = process.stdout.isTTY ? "true" : "false";
  const args = ["--project", project, "--noEmit", "--pretty", pretty, "--singleThreaded"];
  return { name, title: `type check${what}`, run: () => tool("typescript/bin/tsc", args) };
}

/** Runs a command of a development dependency. If the command fails, its whole output is the problem. */
async function tool(
  script: string,
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<CheckResult> {
  const missing = missingProgram(script);
  if (missing !== null) return { problems: [], missing };
  const colours = process.stdout.isTTY ? { FORCE_COLOR: "1" } : { NO_COLOR: "1" };
  const command = [join("node_modules", script), ...args];
  const { status, output } = await outputOf(command, {
    cwd: projectRoot,
    env: { ...process.env, ...colours, ...settings },
  });
  if (status === 0) return { problems: [] };
  // Some tools always colour their output in CI.
  const report = (process.stdout.isTTY ? output : stripVTControlCharacters(output)).trim();
  return { problems: [report === "" ? `${script} failed without output` : report] };
}

// ---- missing programs --------------------------------------------------------------------------------------------

interface Manifest {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Packages that a tool needs in addition to its own, because it starts their programs. */
const companions: Readonly<Record<string, readonly string[]>> = { oxlint: ["oxlint-tsgolint"] };

/**
 * Returns a sentence about which program is missing and how to get it, or null if the tool can run. `script` begins
 * with the name of the package. Some tools are compiled, and npm installs their program as an optional package for each
 * platform. npm reports success even if such a package cannot be installed.
 */
export function missingProgram(script: string, root = projectRoot): string | null {
  // `@biomejs/biome/bin/biome` is in `@biomejs/biome`.
  const name = script
    .split("/")
    .slice(0, script.startsWith("@") ? 2 : 1)
    .join("/");
  const parts = [name, ...(companions[name] ?? [])];
  return parts.map((part) => missingOf(part, root)).find((missing) => missing !== null) ?? null;
}

function missingOf(name: string, root: string): string | null {
  const modules = join(root, "node_modules");
  const manifest = join(modules, name, "package.json");
  if (!existsSync(manifest)) return `${name} is not installed`;
  const { optionalDependencies = {} } = JSON.parse(readFileSync(manifest, "utf8")) as Manifest;
  const programs = Object.entries(optionalDependencies);
  const isInstalled = ([program]: readonly [string, string]): boolean =>
    existsSync(join(modules, program)) || existsSync(join(modules, name, "node_modules", program));
  if (programs.length === 0 || programs.some(isInstalled)) return null;
  const platform = `${process.platform}-${process.arch}`;
  const [own, version] = programs.find(([program]) => program.includes(platform)) ?? [];
  const remedy = own === undefined ? "" : `; to have it: npm install --no-save ${own}@${version}`;
  return `${name} has no program for ${platform} here${remedy}`;
}

// ---- import direction --------------------------------------------------------------------------------------------

let hooked = false;

/**
 * dependency-cruiser needs the compiler API, which TypeScript 7 does not have. A resolve hook in this process gives it
 * TypeScript 6 from the package @typescript/typescript6.
 */
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

/** Runs dependency-cruiser with the rules of .dependency-cruiser.mjs. */
async function checkImports(): Promise<CheckResult> {
  lendTypeScript6();
  const [{ cruise }, { default: readConfiguration }] = await Promise.all([
    import("dependency-cruiser"),
    import("dependency-cruiser/config-utl/extract-depcruise-options"),
  ]);
  const options = await readConfiguration(join(projectRoot, ".dependency-cruiser.mjs"));
  const { output } = await cruise([...codeFolders], { ...options, baseDir: projectRoot });
  if (typeof output === "string") throw new TypeError("dependency-cruiser returned text instead of data");
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
