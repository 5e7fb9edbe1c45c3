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
import { messageOf } from "../src/domain/thrown.ts";
import { bundleProgram } from "./bundle-program.ts";
import type { Check, CheckResult } from "./check.ts";
import { checks } from "./checks.ts";
import { ownProcessorSeconds } from "./processor-seconds.ts";
import { type Failure, type RunResult, runTests, type TestRun } from "./run-tests.ts";
import { type Found, removeThrowaways, type Service, servicesOf } from "./services.ts";
import { isTestPath, projectFiles, projectRoot } from "./source-files.ts";
import { keepFoldersInMemory } from "./temporary-folder.ts";
import { processesOf } from "./test-processes.ts";

interface Suite {
  readonly name: string;
  readonly folder: string;
  /** The longest that one test of it takes, many times over; and longer than a test waits before it says for what. */
  readonly silenceMsMax: number;
  /** For its short files, so that the last ones still fill all cores; without it each file has one of its own. */
  readonly processes?: number;
  /** Runs only when somebody names it, for the reason given. */
  readonly onRequest?: string;
}

/**
 * In the order in which they run, files with a process of their own before those that share one: what takes long comes
 * first, and hundreds of short files fill both cores to the end. The first that a file belongs to counts.
 */
const suites: readonly Suite[] = [
  // True outages of servers, half a minute and longer, under load: apart, so that nothing else competes with them. Each
  // file takes three quarters of a core, so that two at once are what two cores can bear.
  {
    name: "outages",
    folder: "test/scenarios/outages/",
    silenceMsMax: 900_000,
    onRequest: "takes some minutes of true waiting; npm run outages",
  },
  // Dozens of crashes and of locks, each waited for in true time: what an outage shows once, many times.
  {
    name: "trials",
    folder: "test/scenarios/trials/",
    silenceMsMax: 900_000,
    onRequest: "takes a quarter of an hour of true waiting; npm run trials",
  },
  {
    name: "failovers",
    folder: "test/scenarios/failover/whole/",
    silenceMsMax: 900_000,
    onRequest: "some fifty failovers of PostgreSQL, ten minutes; npm run failovers",
  },
  { name: "simulation", folder: "test/simulation/", silenceMsMax: 900_000 },
  { name: "scenarios", folder: "test/scenarios/", silenceMsMax: 900_000, processes: 6 },
  { name: "conformance", folder: "test/conformance/", silenceMsMax: 600_000, processes: 3 },
  { name: "other", folder: "test/", silenceMsMax: 600_000, processes: 6 },
  { name: "unit", folder: "src/", silenceMsMax: 300_000, processes: 6 },
  { name: "dashboard", folder: "dashboard/", silenceMsMax: 300_000, processes: 1 },
];

/**
 * Two shared cores are what the project is developed and checked on: four files keep them busy while some compute, and where
 * most of them wait it takes eight. That is also what the connections and the memory of the servers bear.
 */
const concurrencyOfTests = { min: 4, max: 8 };
const concurrencyOfOutages = { min: 2, max: 2 };
/** With fewer files, bundling the program costs more than it spares. */
const filesOfBundleMin = 10;

const isCi = /^(1|true)$/i.test(process.env["CI"] ?? "");

const failures: Failure[] = [];
const skipped: string[] = [];
let passed = 0;
/** Which services answer, asked once. */
const found = new Map<Service, Found>();
/** Files that were not run, by the service that they miss. */
const withheld = new Map<Service, Set<string>>();

// Some hundred processes load the same modules: each starts in half the time when it finds them compiled.
process.env["NODE_COMPILE_CACHE"] ??= join(projectRoot, "node_modules", ".cache", "compiled");

await main();

async function main(): Promise<void> {
  const request = parseRequest();
  const removeFolder = keepFoldersInMemory();
  try {
    await runAll(request);
  } finally {
    await removeThrowaways();
    removeFolder();
  }
  printEnd();
}

/** The checks need one core for most of their time, so that tests run beside them. */
async function runAll({ checks: chosen, suites: chosenSuites, namePattern }: Request): Promise<void> {
  const fileCount = [...chosenSuites.values()].reduce((sum, { length }) => sum + length, 0);
  if (fileCount >= filesOfBundleMin) await announceProgram();
  const running = runChecks(chosen);
  const isAlone = [...chosenSuites.keys()].some(({ onRequest }) => onRequest !== undefined);
  const runs: TestRun[] = [];
  for (const [suite, paths] of chosenSuites) {
    const runnable: string[] = [];
    for (const path of paths) {
      const missing = await missingServices(path);
      if (missing.length === 0) runnable.push(path);
      else withhold(path, missing);
    }
    const { name, silenceMsMax, processes = 0 } = suite;
    for (const { title, paths: shared } of processesOf(runnable, name, processes))
      runs.push({ title, paths: shared, silenceMsMax });
  }
  // Files that mostly wait would leave the cores idle at the end.
  const inOrder = runs.toSorted((one, other) => one.paths.length - other.paths.length);
  const concurrency = isAlone ? concurrencyOfOutages : concurrencyOfTests;
  await runTests(inOrder, namePattern, concurrency, record);
  await running;
}

/** Without a bundle, tests start the source, which says better what is wrong with it. */
async function announceProgram(): Promise<void> {
  try {
    process.env["POSTHORN_TEST_PROGRAM"] ??= await bundleProgram();
  } catch (error) {
    const [reason = ""] = messageOf(error).split("\n", 1);
    process.stdout.write(`the program could not be bundled, so servers start from source: ${reason}\n`);
  }
}

async function runChecks(chosen: readonly Check[]): Promise<void> {
  for (const check of chosen) await runCheck(check);
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
  const { problems, note, missing, processorSeconds } = await resultOf(check);
  if (missing !== undefined) {
    skipped.push(`${check.title}: ${missing}`);
    printLine({ isOk: true, title: check.title, durationMs: undefined, note: `skipped, ${missing}` });
    return;
  }
  printLine({
    isOk: problems.length === 0,
    title: check.title,
    durationMs: performance.now() - startedAt,
    processorSeconds: processorSeconds ?? null,
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

/** The services a file needs and that do not answer. Those that do are announced to the tests. */
async function missingServices(file: string): Promise<readonly Service[]> {
  const missing: Service[] = [];
  for (const service of servicesOf(file)) {
    const known = found.get(service) ?? (await service.find());
    found.set(service, known);
    if (known.isReachable) process.env[service.variable] = known.at;
    else missing.push(service);
  }
  return missing;
}

function withhold(file: string, missing: readonly Service[]): void {
  const note = `needs ${missing.map(({ name }) => name).join(", ")}`;
  for (const service of missing) withheld.set(service, (withheld.get(service) ?? new Set()).add(file));
  if (isCi)
    failures.push({
      place: file,
      name: "the file itself",
      report: `${note}; with CI=true that is a failure`,
    });
  printLine({ isOk: !isCi, title: file, durationMs: undefined, note: isCi ? note : `skipped, ${note}` });
}

/** One line for each server that is missing, with what to do. */
function printWithheld(): void {
  if (withheld.size > 0) process.stdout.write("\n");
  for (const [service, files] of withheld) {
    const { name, variable, remedy } = service;
    const why = found.get(service)?.problem ?? "it cannot be reached";
    const count = `${files.size} ${files.size === 1 ? "file" : "files"}`;
    process.stdout.write(
      `${name}: ${count} skipped, ${why}; to have them: ${remedy}, or name one with ${variable}\n`,
    );
  }
}

function record(result: RunResult): void {
  passed += result.passed;
  failures.push(...result.failures);
  skipped.push(...result.skipped.map((test) => `${result.title}: ${test}`));
  const counts = [
    `${result.passed} passed`,
    ...(result.failures.length > 0 ? [`${result.failures.length} failed`] : []),
    ...(result.skipped.length > 0 ? [`${result.skipped.length} skipped`] : []),
  ];
  printLine({
    isOk: result.failures.length === 0,
    title: result.title,
    durationMs: result.durationMs,
    processorSeconds: result.processorSeconds,
    note: counts.join(", "),
  });
  // Once more at the end, with everything there is to know; whoever reads along need not wait for it.
  for (const { name, report } of result.failures) {
    process.stdout.write(`       ${name}\n         ${report.split("\n", 1)[0]}\n`);
  }
}

/** Colour is for terminals; a log is for searching. */
function paint(colour: "green" | "red" | "dim", text: string): string {
  return process.stdout.isTTY ? styleText(colour, text) : text;
}

interface Line {
  readonly isOk: boolean;
  readonly title: string;
  readonly durationMs: number | undefined;
  readonly processorSeconds?: number | null;
  readonly note: string | undefined;
}

function printLine({ isOk, title, durationMs, processorSeconds = null, note }: Line): void {
  const verdict = paint(isOk ? "green" : "red", isOk ? "ok  " : "FAIL");
  const time = durationMs === undefined ? "" : ` ${(durationMs / 1_000).toFixed(1)} s`;
  const processor = processorSeconds === null ? "" : ` (processor ${processorSeconds.toFixed(1)} s)`;
  const remark = note === undefined ? "" : paint("dim", `  ${note}`);
  process.stdout.write(`${verdict} ${title}${time}${processor}${remark}\n`);
}

function printEnd(): void {
  const processorSeconds = ownProcessorSeconds();
  if (processorSeconds !== null)
    process.stdout.write(`\nprocessor ${processorSeconds.toFixed(0)} s, servers of this run included\n`);
  printWithheld();
  if (skipped.length > 0) {
    process.stdout.write(`\nskipped:\n${skipped.map((entry) => `  ${entry}\n`).join("")}`);
  }
  for (const { place, name, report } of failures) {
    const heading = paint("red", `FAIL ${name}`);
    process.stdout.write(`\n${heading}\n  ${place}\n${report.replaceAll(/^(?=.)/gm, "  ")}\n`);
  }
  const counts = [`${passed} passed`, `${failures.length} failed`];
  const files = isCi ? 0 : new Set([...withheld.values()].flatMap((some) => Array.from(some))).size;
  const skippedCount = skipped.length + files;
  if (skippedCount > 0) counts.push(`${skippedCount} skipped`);
  process.stdout.write(`\n${counts.join(", ")}\n`);
  if (failures.length > 0) process.exitCode = 1;
}
