// The static checks of `npm test`, in the order of running: what people most likely broke comes first.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Check, CheckResult } from "./check.ts";
import { checkImports } from "./check-imports.ts";
import { checkClientTypes } from "./client-types/written-types.ts";
import { checkConformance } from "./conformance/check.ts";
import { checkMutations } from "./mutations/all.ts";
import { ProcessorProbe } from "./processor-seconds.ts";
import { projectRoot } from "./source-files.ts";
import { missingProgram } from "./native-programs.ts";
import { checkLockFile } from "./tidy/lock-file.ts";
import { tidyRules } from "./tidy/rules.ts";

export const checks: readonly Check[] = [
  { name: "types", title: "type check", run: () => typeCheck("tsconfig.json") },
  {
    name: "types-published",
    title: "type check of the published package (language of Node 24)",
    run: () => typeCheck("tsconfig.build.json"),
  },
  {
    name: "types-receiver",
    title: "type check of @posthorn/receiver (language of Node 20)",
    run: () => typeCheck("tsconfig.receiver.json"),
  },
  {
    name: "types-client",
    title: "type check of @posthorn/client (language of Node 20)",
    run: () => typeCheck("tsconfig.client.json"),
  },
  {
    name: "types-dashboard",
    title: "type check of the dashboard (a browser)",
    run: () => typeCheck("dashboard/tsconfig.json"),
  },
  {
    name: "lint",
    title: "lint",
    run: () =>
      tool("oxlint/bin/oxlint", ["--type-aware", "--deny-warnings", "--report-unused-disable-directives"], {
        // It collects garbage less often: a fifth less processor time for a tenth more memory.
        GOGC: "300",
      }),
  },
  {
    name: "format",
    title: "format (npm run format repairs it)",
    run: () => tool("@biomejs/biome/bin/biome", ["format", "--max-diagnostics=50"]),
  },
  { name: "imports", title: "import direction", run: checkImports },
  ...tidyRules.map(({ name, title, run }) => ({ name: `tidy-${name}`, title: `tidy: ${title}`, run })),
  { name: "requirements", title: "conformance page", run: checkConformance },
  { name: "mutations", title: "mutations can be made", run: checkMutations },
  {
    name: "client-types",
    title: "types of the client (npm run client-types repairs them)",
    run: checkClientTypes,
  },
  { name: "lock", title: "lock file", run: checkLockFile },
];

/** Threads of their own each find out again what the types of packages are: a third more processor time. */
function typeCheck(project: string): Promise<CheckResult> {
  const pretty = process.stdout.isTTY ? "true" : "false";
  return tool("typescript/bin/tsc", [
    "--project",
    project,
    "--noEmit",
    "--pretty",
    pretty,
    "--singleThreaded",
  ]);
}

/** Runs a command of a development dependency; its whole output is the problem when it fails. */
async function tool(
  script: string,
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<CheckResult> {
  const missing = missingProgram(script);
  if (missing !== null) return { problems: [], missing };
  const probe = new ProcessorProbe();
  const colours = process.stdout.isTTY ? { FORCE_COLOR: "1" } : { NO_COLOR: "1" };
  const child = spawn(process.execPath, [probe.option, join("node_modules", script), ...args], {
    cwd: projectRoot,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...colours, ...settings },
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once("error", reject);
  child.once("close", (code, signal) => {
    if (signal !== null) output += `\nended by ${signal}`;
    resolve(code ?? 1);
  });
  const status = await promise;
  const processorSeconds = probe.take();
  if (status === 0) return { problems: [], processorSeconds };
  // Some tools colour their output for CI whatever they are told.
  const report = (process.stdout.isTTY ? output : stripVTControlCharacters(output)).trim();
  return { problems: [report === "" ? `${script} failed without a word` : report], processorSeconds };
}
