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

import { join } from "node:path";
import { inspect, parseArgs, styleText } from "node:util";
import type { Check, CheckResult } from "./check.ts";
import { checks } from "./checks.ts";
import { type Failure, type FileResult, runTests } from "./run-tests.ts";
import { type Found, type Service, servicesOf } from "./services.ts";
import { isTestPath, projectFiles, projectRoot } from "./source-files.ts";

interface Suite {
  readonly name: string;
  readonly folder: string;
  readonly fileTimeoutMs: number;
  /** Runs only when somebody names it, for the reason given. */
  readonly onRequest?: string;
}

const suites: readonly Suite[] = [
  { name: "unit", folder: "src/", fileTimeoutMs: 60_000 },
  { name: "conformance", folder: "test/conformance/", fileTimeoutMs: 120_000 },
  { name: "simulation", folder: "test/simulation/", fileTimeoutMs: 300_000 },
  // True outages of servers, half a minute and longer, under load: apart, so that nothing else competes with them. Each
  // file takes three quarters of a core, so that two at once are what two cores can bear.
  {
    name: "outages",
    folder: "test/scenarios/outages/",
    fileTimeoutMs: 400_000,
    onRequest: "takes some minutes of true waiting; npm run outages",
  },
  { name: "scenarios", folder: "test/scenarios/", fileTimeoutMs: 300_000 },
  { name: "other", folder: "", fileTimeoutMs: 120_000 },
];

const isCi = /^(1|true)$/i.test(process.env["CI"] ?? "");

const failures: Failure[] = [];
const skipped: string[] = [];
let passed = 0;
/** Which services answer, asked once. */
const found = new Map<Service, Found>();

// Some hundred processes load the same modules: each starts in half the time when it finds them compiled.
process.env["NODE_COMPILE_CACHE"] ??= join(projectRoot, "node_modules", ".cache", "compiled");

await main();

async function main(): Promise<void> {
  const request = parseRequest();
  if (request.checks.length > 0) process.stdout.write("checks\n");
  for (const check of request.checks) await runCheck(check);
  for (const [suite, files] of request.suites)
    await runSuite(suite, { files, namePattern: request.namePattern });
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
    .filter(([, list]) => !isFocused || list.length > 0)
    .filter(([suite]) => isFocused || only.length > 0 || !isLeftOut(suite));
  return { checks: chosenChecks, suites: new Map(chosenSuites), namePattern: values.name };
}

/** Of a run of everything. It is told, like everything that did not run. */
function isLeftOut({ name, onRequest }: Suite): boolean {
  if (onRequest === undefined) return false;
  skipped.push(`${name}: ${onRequest}`);
  return true;
}

function readArguments(): {
  values: { only?: string[]; name?: string; list?: boolean };
  positionals: string[];
} {
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
  const all = projectFiles().filter(
    (path) => path.endsWith(".test.ts") && (path.startsWith("src/") || isTestPath(path)),
  );
  if (places.length === 0) return all;
  const wanted = places.map((place) => place.replace(/^\.\//, "").replace(/\/$/, ""));
  for (const place of wanted) {
    if (!all.some(isAt(place))) refuse(`${place}: no test file there`);
  }
  return all.filter((path) => wanted.some((place) => isAt(place)(path)));
}

function isAt(place: string): (path: string) => boolean {
  return (path) => path === place || path.startsWith(`${place}/`);
}

function suiteOf(file: string): Suite | undefined {
  return suites.find(({ folder }) => file.startsWith(folder));
}

async function runCheck(check: Check): Promise<void> {
  const startedAt = performance.now();
  const { problems, note } = await resultOf(check);
  printLine({
    isOk: problems.length === 0,
    title: check.title,
    durationMs: performance.now() - startedAt,
    note,
  });
  if (problems.length === 0) {
    passed += 1;
    return;
  }
  failures.push({
    place: `npm test -- --only ${check.name}`,
    name: check.title,
    report: problems.join("\n"),
  });
}

/** A check that breaks has failed, and the run goes on. */
async function resultOf(check: Check): Promise<CheckResult> {
  try {
    return await check.run();
  } catch (error) {
    return { problems: [inspect(error)] };
  }
}

interface SuiteRequest {
  readonly files: readonly string[];
  readonly namePattern: string | undefined;
}

async function runSuite(suite: Suite, { files, namePattern }: SuiteRequest): Promise<void> {
  if (files.length === 0 && suite.name === "other") return;
  process.stdout.write(`\n${suite.name}${files.length === 0 ? ": no test files yet" : ""}\n`);
  const runnable: string[] = [];
  for (const file of files) {
    const missing = await missingServices(file);
    if (missing.length === 0) runnable.push(file);
    else withhold(file, missing);
  }
  await runTests({ files: runnable, namePattern, fileTimeoutMs: suite.fileTimeoutMs, onFileEnd: record });
}

/** The services a file needs and that do not answer. Those that do are announced to the tests. */
async function missingServices(file: string): Promise<string[]> {
  const missing: string[] = [];
  for (const service of servicesOf(file)) {
    const { isReachable, at } = found.get(service) ?? (await service.find());
    found.set(service, { isReachable, at });
    if (isReachable) process.env[service.variable] = at;
    else missing.push(`${service.name} (${service.variable}, tried ${at.replace(/\/\/[^@/]*@/, "//")})`);
  }
  return missing;
}

function withhold(file: string, missing: readonly string[]): void {
  const note = `needs ${missing.join(", ")}`;
  if (isCi)
    failures.push({
      place: file,
      name: "the file itself",
      report: `${note}; with CI=true that is a failure`,
    });
  else skipped.push(`${file}: ${note}`);
  printLine({ isOk: !isCi, title: file, durationMs: undefined, note: isCi ? note : `skipped, ${note}` });
}

function record(result: FileResult): void {
  passed += result.passed;
  failures.push(...result.failures);
  skipped.push(...result.skipped.map((test) => `${result.file}: ${test}`));
  const counts = [
    `${result.passed} passed`,
    ...(result.failures.length > 0 ? [`${result.failures.length} failed`] : []),
    ...(result.skipped.length > 0 ? [`${result.skipped.length} skipped`] : []),
  ];
  printLine({
    isOk: result.failures.length === 0,
    title: result.file,
    durationMs: result.durationMs,
    note: counts.join(", "),
  });
}

/** Colour is for terminals; a log is for searching. */
function paint(colour: "green" | "red" | "dim", text: string): string {
  return process.stdout.isTTY ? styleText(colour, text) : text;
}

interface Line {
  readonly isOk: boolean;
  readonly title: string;
  readonly durationMs: number | undefined;
  readonly note: string | undefined;
}

function printLine({ isOk, title, durationMs, note }: Line): void {
  const verdict = paint(isOk ? "green" : "red", isOk ? "ok  " : "FAIL");
  const time = durationMs === undefined ? "" : ` ${(durationMs / 1_000).toFixed(1)} s`;
  const remark = note === undefined ? "" : paint("dim", `  ${note}`);
  process.stdout.write(`${verdict} ${title}${time}${remark}\n`);
}

function printEnd(): void {
  if (skipped.length > 0) {
    process.stdout.write(`\nskipped:\n${skipped.map((entry) => `  ${entry}\n`).join("")}`);
  }
  for (const { place, name, report } of failures) {
    const heading = paint("red", `FAIL ${name}`);
    process.stdout.write(`\n${heading}\n  ${place}\n${report.replaceAll(/^(?=.)/gm, "  ")}\n`);
  }
  const counts = [`${passed} passed`, `${failures.length} failed`];
  if (skipped.length > 0) counts.push(`${skipped.length} skipped`);
  process.stdout.write(`\n${counts.join(", ")}\n`);
  if (failures.length > 0) process.exitCode = 1;
}
