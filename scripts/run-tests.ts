// Runs test files with node:test, one or several per process, and counts the results.
//
// Each process has a separate run(). If the tests of a file have passed but its process stays alive, the timeout of run()
// does not end it. Aborting the run does. Such a file has left a resource open, which counts as a failure. The time limit
// applies to the time without any test event and not to the total time of a file, because a busy machine makes files slow
// but not silent.

import { join, relative } from "node:path";
import { type EventData, run } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { inspect, stripVTControlCharacters } from "node:util";
import { type Bounds, byIdleProcessor, runSideBySide } from "./side-by-side.ts";
import { projectRoot } from "./source-files.ts";

export interface Failure {
  /** `path:line` if the line is known, otherwise the path. */
  readonly place: string;
  /** The name of the test, preceded by those of the suites that contain it. */
  readonly name: string;
  /** All details in printable form. */
  readonly report: string;
}

/** Test files that share a process. */
export interface TestRun {
  /** Path of the file. If several files share the process, what they have in common. */
  readonly title: string;
  readonly paths: readonly string[];
  /** A run that reports no test events for this long is aborted and counts as failed. */
  readonly silenceMsMax: number;
}

export interface RunResult {
  readonly title: string;
  readonly passed: number;
  readonly failures: readonly Failure[];
  /** Skipped tests, each with its reason. */
  readonly skipped: readonly string[];
  readonly durationMs: number;
}

export async function runTests(
  /** In the order in which they start. */ runs: readonly TestRun[],
  namePattern: string | undefined,
  /** Number of runs at the same time. */ concurrency: Bounds,
  onEnd: (result: RunResult) => void,
): Promise<void> {
  const jobs = runs.map((testRun) => async () => onEnd(await runOne(testRun, namePattern)));
  await runSideBySide(jobs, byIdleProcessor(concurrency));
}

const batch = join(projectRoot, "scripts", "test-batch.ts");

async function runOne(testRun: TestRun, namePattern: string | undefined): Promise<RunResult> {
  const startedAt = performance.now();
  const { silenceMsMax } = testRun;
  const paths = testRun.paths.map((path) => join(projectRoot, path));
  const [file = ""] = paths.length === 1 ? paths : [batch];
  const record = new RunRecord(testRun, file, namePattern !== undefined);
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), silenceMsMax);
  const events = run({
    files: [file],
    cwd: projectRoot,
    execArgv: ["--conditions=posthorn-source"],
    argv: file === batch ? paths : [],
    signal: silence.signal,
    ...(namePattern === undefined ? {} : { testNamePatterns: [new RegExp(namePattern, "i")] }),
  });
  for await (const event of events as AsyncIterable<TestEvent>) {
    timer.refresh();
    record.take(event);
  }
  clearTimeout(timer);
  return record.result(performance.now() - startedAt);
}

/** The test events of one process so far. node:test reports tests in the order of the source. */
class RunRecord {
  readonly #run: TestRun;
  readonly #file: string;
  readonly #isFiltered: boolean;
  readonly #failures: Failure[] = [];
  readonly #skipped: string[] = [];
  readonly #names: string[] = [];
  #passed = 0;
  #output = "";

  constructor(testRun: TestRun, file: string, isFiltered: boolean) {
    this.#run = testRun;
    this.#file = file;
    this.#isFiltered = isFiltered;
  }

  take({ type, data }: TestEvent): void {
    if (type === "test:start") this.#start(data);
    else if (type === "test:pass") this.#pass(data);
    else if (type === "test:fail") this.#fail(data);
    else if (type === "test:stdout" || type === "test:stderr") this.#output += data.message;
  }

  #start({ name, nesting }: EventData.TestStart): void {
    this.#names.length = nesting;
    this.#names.push(name);
  }

  #pass(data: EventData.TestPass): void {
    if (data.details.type === "suite") return;
    const reason = data.skip ?? data.todo;
    if (reason !== undefined && reason !== false) {
      this.#skipped.push(
        `${this.#pathOf(data.name, data.nesting)}${typeof reason === "string" && reason !== "" ? `: ${reason}` : ""}`,
      );
    } else if (!this.#isFileItself(data.name)) {
      this.#passed += 1;
    } else if (!this.#isFiltered) {
      this.#failures.push({ place: this.#run.title, name: "the file itself", report: "it contains no test" });
    }
  }

  #fail(data: EventData.TestFail): void {
    const { error } = data.details;
    if (failureTypeOf(error) === "subtestsFailed") return;
    const place =
      data.line === undefined || this.#isFileItself(data.name)
        ? this.#run.title
        : `${relative(projectRoot, data.file ?? this.#file)}:${data.line}`;
    this.#failures.push({
      place,
      name: this.#pathOf(data.name, data.nesting),
      report: this.#describe(error),
    });
  }

  /** Only the first failure includes the output of the tests. */
  result(durationMs: number): RunResult {
    const output = stripVTControlCharacters(this.#output).trim();
    const failures = this.#failures.map((failure, index) =>
      index > 0 || output === ""
        ? failure
        : { ...failure, report: `${failure.report}\n\nThe tests printed:\n${output}` },
    );
    return { title: this.#run.title, passed: this.#passed, failures, skipped: this.#skipped, durationMs };
  }

  #isFileItself(name: string): boolean {
    return name === this.#file;
  }

  #pathOf(name: string, nesting: number): string {
    return this.#isFileItself(name)
      ? "the file itself"
      : [...this.#names.slice(0, nesting), name].join(" > ");
  }

  /** Returns the original error, which node:test wraps. */
  #describe(error: unknown): string {
    if (failureTypeOf(error) === "testAborted") {
      return `nothing for ${this.#run.silenceMsMax / 1_000} s: it hangs, or left something open (a server, a timer)`;
    }
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    if (typeof cause === "string") return cause;
    // The message of an AssertionError already contains the difference, and its properties would repeat it.
    const text = isAssertionError(cause) ? cause.stack : undefined;
    return withoutNodeFrames(text ?? inspect(cause, { depth: 6, colors: false }));
  }
}

/** The error comes from another process, so its class is lost. */
function isAssertionError(cause: unknown): cause is Error {
  return cause instanceof Error && "code" in cause && cause.code === "ERR_ASSERTION";
}

function withoutNodeFrames(stack: string): string {
  return stack.replaceAll(/^ *at (async )?(.*\()?(node:[^)]*|<anonymous>|index \d+)\)?$\n?/gm, "").trimEnd();
}

function failureTypeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "failureType" in error
    ? error.failureType
    : undefined;
}
