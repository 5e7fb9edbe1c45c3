// `npm test`: runs every check of the project and prints the result in one line at the end.
//
//   npm test                                  everything
//   npm test -- --only unit,lint              a selection: checks, a single check, or a suite
//   npm test -- src/domain test/conformance   the test files at these paths, no checks
//   npm test -- FILE --name "retry after"     the tests of a file whose name matches
//   npm test -- --list                        the names for --only
//
// A failure never stops the run, so all failures are reported. The last line is for programs: `N passed, N failed`, with
// `, N skipped` if any were skipped. The exit status is 1 if anything failed, and 2 for wrong usage.

import { chmodSync, existsSync, mkdtempSync, readFileSync, statfsSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { inspect, parseArgs, styleText } from "node:util";
import { messageOf } from "../src/domain/thrown.ts";
import { leftovers } from "../test/services/leftovers.fixture.ts";
import { bundleProgram } from "./bundle-program.ts";
import type { Check, CheckResult } from "./check.ts";
import { checks } from "./checks.ts";
import { type Failure, type RunResult, runTests, type TestRun } from "./run-tests.ts";
import { type Found, removeThrowaways, type Service, servicesOf } from "./services.ts";
import { isTestPath, projectFiles, projectRoot } from "./source-files.ts";
import { processesOf } from "./test-processes.ts";

interface Suite {
  readonly name: string;
  readonly folder: string;
  /**
   * Time limit without any test event. It is much longer than a single test of the suite takes, and longer than a test
   * waits before it reports what it is waiting for.
   */
  readonly silenceMsMax: number;
  /**
   * Number of processes for the short files, so that all cores are in use until the end. If omitted, each file has a
   * separate process.
   */
  readonly processes?: number;
  /** The reason why the suite runs only when it is named. */
  readonly onRequest?: string;
}

/**
 * In the order in which the suites run. Files with a separate process run before those that share one: long files come
 * first, and hundreds of short files keep both cores busy until the end. A file belongs to the first suite that
 * matches.
 */
const suites: readonly Suite[] = [
  {
    name: "outages",
    folder: "test/scenarios/outages/",
    silenceMsMax: 900_000,
    onRequest: "takes some minutes of real waiting; npm run outages",
  },
  {
    name: "trials",
    folder: "test/scenarios/trials/",
    silenceMsMax: 900_000,
    onRequest: "takes a quarter of an hour of real waiting; npm run trials",
  },
  {
    name: "failovers",
    folder: "test/scenarios/failover/whole/",
    silenceMsMax: 900_000,
    onRequest: "about fifty failovers of PostgreSQL, ten minutes; npm run failovers",
  },
  { name: "simulation", folder: "test/simulation/", silenceMsMax: 900_000 },
  { name: "scenarios", folder: "test/scenarios/", silenceMsMax: 900_000, processes: 6 },
  { name: "conformance", folder: "test/conformance/", silenceMsMax: 600_000, processes: 3 },
  { name: "other", folder: "test/", silenceMsMax: 600_000, processes: 6 },
  { name: "unit", folder: "src/", silenceMsMax: 300_000, processes: 6 },
  { name: "dashboard", folder: "dashboard/", silenceMsMax: 300_000, processes: 1 },
];

/**
 * Tuned for two shared cores: four files keep them busy if some of them compute, and eight are needed if most of them
 * wait.
 */
const concurrencyOfTests = { min: 4, max: 8 };
/** For suites that run only on request. They put load on servers, and each file takes three quarters of a core. */
const concurrencyOfOutages = { min: 2, max: 2 };
/** Minimum number of files for bundling the program. With fewer files, bundling costs more time than it saves. */
const filesOfBundleMin = 10;
/** Folder in memory. It is used only if it has many times the space that all tests of a run use at the same time. */
const memoryFolder = "/dev/shm";
const memoryBytesMin = 6 * 1024 ** 3;

/** Maximum number of test files to list for each suite. */
const runnersShown = 5;

const isCi = /^(1|true)$/i.test(process.env["CI"] ?? "");

const failures: Failure[] = [];
const skipped: string[] = [];
let passed = 0;
/** The result of the search for each service. */
const found = new Map<Service, Found>();
/** Files that did not run, by the service that is missing. */
const withheld = new Map<Service, Set<string>>();

// Compiled code is cached, because about a hundred processes load the same modules. Each one starts in half the time if
// the modules are already compiled.
process.env["NODE_COMPILE_CACHE"] ??= join(projectRoot, "node_modules", ".cache", "compiled");

const request = parseRequest();
const removeFolder = keepFoldersInMemory();
try {
  await runAll(request);
} finally {
  await removeThrowaways();
  removeFolder();
}
refuseUnknownName(request);
printEnd();

// ---- what to run -------------------------------------------------------------------------------------------------

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
  const files = testFiles(positionals);
  const chosenSuites = suites
    .filter(({ name }) => isChosen(name))
    .map((suite) => [suite, files.filter((file) => suiteOf(file) === suite)] as const)
    .filter(([, list]) => !isFocused || list.length > 0)
    .filter(([suite]) => isFocused || only.length > 0 || !isLeftOut(suite));
  return {
    checks: isFocused ? [] : checks.filter(({ name }) => isChosen(name) || only.includes("checks")),
    suites: new Map(chosenSuites),
    namePattern: values.name,
  };
}

/** Whether a full run omits the suite. Omitted suites are reported as skipped. */
function isLeftOut({ name, onRequest }: Suite): boolean {
  if (onRequest === undefined) return false;
  skipped.push(`${name}: ${onRequest}`);
  return true;
}

function readArguments() {
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
    return refuse(messageOf(error));
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
  const isAt = (place: string) => (path: string) => path === place || path.startsWith(`${place}/`);
  const wanted = places.map((place) => place.replace(/^\.\//, "").replace(/\/$/, ""));
  for (const place of wanted) if (!all.some(isAt(place))) refuse(`${place}: ${whyNoTest(place, all)}`);
  return all.filter((path) => wanted.some((place) => isAt(place)(path)));
}

/**
 * Explains why no tests were found at a path. Suites and helpers are run by test files that import them, often
 * indirectly.
 */
function whyNoTest(place: string, tests: readonly string[]): string {
  if (!existsSync(join(projectRoot, place))) return "no such file or folder";
  const files = projectFiles().filter((path) => /^(src|test)\/.*\.ts$/.test(path));
  const importsOf = new Map(files.map((path) => [path, relativeImports(path)]));
  const reached = new Set([place]);
  // Iteration over a set includes elements that are added during the iteration.
  for (const target of reached)
    for (const [path, imports] of importsOf) if (imports.has(target)) reached.add(path);
  const runners = tests.filter((path) => reached.has(path));
  if (runners.length === 0) return "no test file there";
  return `not a test file; run one that imports it: ${runners.slice(0, runnersShown).join(", ")}`;
}

function relativeImports(path: string): ReadonlySet<string> {
  const text = readFileSync(join(projectRoot, path), "utf8");
  return new Set(
    [...text.matchAll(/ from "(\.[^"]+)"/g)].map(([, to = ""]) => posix.join(dirname(path), to)),
  );
}

function suiteOf(file: string): Suite | undefined {
  return suites.find(({ folder }) => file.startsWith(folder));
}

// ---- running -----------------------------------------------------------------------------------------------------

/**
 * Keeps the folders of this run's tests in memory, unless TMPDIR names a different folder. The tests do not depend on a
 * durable disk: killed processes lose nothing that they have written. On disk, many tests would wait for `fsync`.
 * Returns a function that removes the folder, which is also removed when the process exits.
 */
function keepFoldersInMemory(): () => void {
  if (process.env["TMPDIR"] !== undefined || !memoryHasSpace()) return () => undefined;
  const folder = mkdtempSync(join(memoryFolder, "posthorn-test-"));
  // Servers that run under other accounts have their folders in it.
  chmodSync(folder, 0o711);
  leftovers.folder(folder);
  process.env["TMPDIR"] = folder;
  return () => leftovers.removeFolder(folder);
}

function memoryHasSpace(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    return bavail * bsize >= memoryBytesMin;
  } catch {
    return false;
  }
}

/** The checks use one core for most of their time, so tests run at the same time. */
async function runAll({ checks: chosen, suites: chosenSuites, namePattern }: Request): Promise<void> {
  const fileCount = [...chosenSuites.values()].reduce((sum, { length }) => sum + length, 0);
  if (fileCount >= filesOfBundleMin) await announceProgram();
  const running = runChecks(chosen);
  const isOnRequest = [...chosenSuites.keys()].some(({ onRequest }) => onRequest !== undefined);
  const runs: TestRun[] = [];
  for (const [{ name, silenceMsMax, processes = 0 }, paths] of chosenSuites) {
    const runnable: string[] = [];
    for (const path of paths) {
      const missing = await missingServices(path);
      if (missing.length === 0) runnable.push(path);
      else withhold(path, missing);
    }
    for (const { title, paths: shared } of processesOf(runnable, name, processes))
      runs.push({ title, paths: shared, silenceMsMax });
  }
  // Processes with few files start first. If they started last, files that mostly wait would leave the cores idle at
  // the end.
  const inOrder = runs.toSorted((one, other) => one.paths.length - other.paths.length);
  await runTests(inOrder, namePattern, isOnRequest ? concurrencyOfOutages : concurrencyOfTests, record);
  await running;
}

/** If bundling fails, the tests start from source, where errors are easier to read. */
async function announceProgram(): Promise<void> {
  try {
    process.env["POSTHORN_TEST_PROGRAM"] ??= await bundleProgram();
  } catch (error) {
    const [reason = ""] = messageOf(error).split("\n", 1);
    process.stdout.write(`the program could not be bundled, so servers start from source: ${reason}\n`);
  }
}

async function runChecks(chosen: readonly Check[]): Promise<void> {
  for (const check of chosen) {
    const { name, title } = check;
    const startedAt = performance.now();
    const { problems, note, missing } = await resultOf(check);
    const isOk = problems.length === 0;
    if (missing !== undefined) {
      skipped.push(`${title}: ${missing}`);
      printLine(true, title, `skipped, ${missing}`);
    } else {
      printLine(isOk, title, note, performance.now() - startedAt);
      if (isOk) passed += 1;
      else failures.push({ place: `npm test -- --only ${name}`, name: title, report: problems.join("\n") });
    }
  }
}

/** A check that throws counts as failed, and the run continues. */
async function resultOf(check: Check): Promise<CheckResult> {
  try {
    return await check.run();
  } catch (error) {
    return { problems: [inspect(error)] };
  }
}

/** The services that a file needs but that are not reachable. The tests receive the addresses of the others. */
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
      report: `${note}; with CI=true this is a failure`,
    });
  printLine(!isCi, file, isCi ? note : `skipped, ${note}`);
}

/**
 * Without this check, a mistyped name would look like success. Skipped when files were withheld, because they may
 * contain the test.
 */
function refuseUnknownName({ namePattern }: Request): void {
  if (namePattern === undefined || passed + failures.length + skipped.length + withheld.size > 0) return;
  failures.push({ place: `--name ${namePattern}`, name: namePattern, report: "no test has this name" });
}

// ---- reporting ---------------------------------------------------------------------------------------------------

function record(result: RunResult): void {
  passed += result.passed;
  failures.push(...result.failures);
  skipped.push(...result.skipped.map((test) => `${result.title}: ${test}`));
  const counts = [`${result.passed} passed`];
  if (result.failures.length > 0) counts.push(`${result.failures.length} failed`);
  if (result.skipped.length > 0) counts.push(`${result.skipped.length} skipped`);
  printLine(result.failures.length === 0, result.title, counts.join(", "), result.durationMs);
  // The failures are printed again at the end of the run, with all details.
  for (const { name, report } of result.failures)
    process.stdout.write(`       ${name}\n         ${report.split("\n", 1)[0]}\n`);
}

/** Colours text on terminals only. Logs contain no colour codes, so they can be searched. */
function paint(colour: "green" | "red" | "dim", text: string): string {
  return process.stdout.isTTY ? styleText(colour, text) : text;
}

function printLine(isOk: boolean, title: string, note?: string, durationMs?: number): void {
  const verdict = paint(isOk ? "green" : "red", isOk ? "ok  " : "FAIL");
  const time = durationMs === undefined ? "" : ` ${(durationMs / 1_000).toFixed(1)} s`;
  const remark = note === undefined ? "" : paint("dim", `  ${note}`);
  process.stdout.write(`${verdict} ${title}${time}${remark}\n`);
}

/** One line for each missing server, with instructions. */
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

function printEnd(): void {
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
