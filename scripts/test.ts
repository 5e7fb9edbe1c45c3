// `npm test`: every check of the project, and one line at the end that says how it went.
//
//   npm test                                  everything
//   npm test -- --only unit,lint              some of it: checks, a single check, or a suite
//   npm test -- src/core test/conformance     the test files in these places, no checks
//   npm test -- --name "retry after"          tests whose name matches
//   npm test -- --list                        what there is to choose from
//
// A failure never stops the run: everything is reported. The last line is for machines: `N passed, N failed`, with
// `, N skipped` when something was skipped. Exit status 1 when anything failed, 2 for wrong usage.

import { parseArgs } from "node:util";
import type { Check } from "./check.ts";
import { checks } from "./checks.ts";
import { type Failure, runTests, type Tally } from "./run-tests.ts";
import { servicesOf } from "./services.ts";
import { isTestPath, projectFiles } from "./source-files.ts";

interface Suite {
  readonly name: string;
  readonly folder: string;
  readonly fileTimeoutMs: number;
}

const suites: readonly Suite[] = [
  { name: "unit", folder: "src/", fileTimeoutMs: 60_000 },
  { name: "conformance", folder: "test/conformance/", fileTimeoutMs: 120_000 },
  { name: "simulation", folder: "test/simulation/", fileTimeoutMs: 300_000 },
  { name: "scenarios", folder: "test/scenarios/", fileTimeoutMs: 300_000 },
  { name: "other", folder: "", fileTimeoutMs: 120_000 },
];

const isCi = /^(1|true)$/i.test(process.env["CI"] ?? "");

const passes: string[] = [];
const failures: Failure[] = [];
const skips: string[] = [];
let passedTests = 0;

await main();

async function main(): Promise<void> {
  const request = parseRequest();
  for (const check of request.checks) await runCheck(check);
  for (const [suite, files] of request.suites) await runSuite(suite, { files, namePattern: request.namePattern });
  printEnd();
}

interface Request {
  readonly checks: readonly Check[];
  readonly suites: ReadonlyMap<Suite, readonly string[]>;
  readonly namePattern: string | undefined;
}

function parseRequest(): Request {
  const { values, positionals } = readArguments();
  const choices = ["checks", ...checks.map(({ name }) => name), ...suites.map(({ name }) => name)];
  if (values.list === true) {
    process.stdout.write(`${choices.join("\n")}\n`);
    process.exit(0);
  }
  const only = values.only?.flatMap((names) => names.split(",")) ?? [];
  const unknown = only.find((name) => !choices.includes(name));
  if (unknown !== undefined) refuse(`--only ${unknown}: there is ${choices.join(", ")}`);
  const isFocused = positionals.length > 0 || values.name !== undefined;
  const isChosen = (name: string): boolean => only.length === 0 || only.includes(name);
  const chosenChecks = isFocused
    ? []
    : checks.filter(({ name }) => isChosen(name) || only.includes("checks"));
  const files = testFiles(positionals);
  const chosenSuites = suites
    .filter(({ name }) => isChosen(name))
    .map((suite) => [suite, files.filter((file) => suiteOf(file) === suite)] as const)
    .filter(([, list]) => !isFocused || list.length > 0);
  return { checks: chosenChecks, suites: new Map(chosenSuites), namePattern: values.name };
}

function readArguments(): { values: { only?: string[]; name?: string; list?: boolean }; positionals: string[] } {
  try {
    return parseArgs({
      options: {
        only: { type: "string", multiple: true },
        name: { type: "string" },
        list: { type: "boolean" },
      },
      allowPositionals: true,
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function refuse(message: string): never {
  process.stderr.write(`npm test: ${message}\n`);
  process.exit(2);
}

/** All test files, or those at the given paths. */
function testFiles(places: readonly string[]): string[] {
  const all = projectFiles().filter((path) => path.endsWith(".test.ts") && (path.startsWith("src/") || isTestPath(path)));
  if (places.length === 0) return all;
  const wanted = places.map((place) => place.replace(/^\.\//, "").replace(/\/$/, ""));
  for (const place of wanted) {
    if (!all.some((path) => isAt(path, place))) refuse(`${place}: no test file there`);
  }
  return all.filter((path) => wanted.some((place) => isAt(path, place)));
}

function isAt(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}

function suiteOf(file: string): Suite | undefined {
  return suites.find(({ folder }) => file.startsWith(folder));
}

async function runCheck(check: Check): Promise<void> {
  const startedAt = performance.now();
  const { problems, note } = await check.run().catch?.((error) => error) ?? { problems: [] };
}
