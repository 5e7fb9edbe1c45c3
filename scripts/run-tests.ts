// Runs test files with node:test, each in its own process, and counts what happened.
//
// One run() for each file, because run()'s own timeout does not end a file whose tests have passed but whose process
// stays alive; aborting a run does. Such a file has left something open, and that is a failure.

import { join } from "node:path";
import { type EventData, run } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { inspect, stripVTControlCharacters } from "node:util";
import { projectRoot } from "./source-files.ts";

export interface Failure {
  /** `path:line` where it is known, else the path. */
  readonly place: string;
  /** The names of the test and of the suites around it. */
  readonly name: string;
  /** Everything there is to know, ready to print. */
  readonly report: string;
}

export interface FileResult {
  readonly file: string;
  readonly passed: number;
  readonly failures: readonly Failure[];
  /** Skipped tests, each with its reason. */
  readonly skipped: readonly string[];
  readonly durationMs: number;
}

export interface RunRequest {
  readonly files: readonly string[];
  readonly namePattern: string | undefined;
  readonly fileTimeoutMs: number;
  readonly onFileEnd: (result: FileResult) => void;
}

/** Two shared cores are what the project is developed and checked on. */
const concurrency = 2;

export async function runTests(request: RunRequest): Promise<void> {
  const waiting = [...request.files];
  const runner = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      request.onFileEnd(await runFile(file, request));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runner));
}

async function runFile(file: string, { namePattern, fileTimeoutMs }: RunRequest): Promise<FileResult> {
  const startedAt = performance.now();
  const record = new FileRecord(file, { isFiltered: namePattern !== undefined, fileTimeoutMs });
  const events = run({
    files: [join(projectRoot, file)],
    cwd: projectRoot,
    execArgv: ["--conditions=posthorn-source"],
    signal: AbortSignal.timeout(fileTimeoutMs),
    ...(namePattern === undefined ? {} : { testNamePatterns: [new RegExp(namePattern, "i")] }),
  });
  for await (const event of events as AsyncIterable<TestEvent>) record.take(event);
  return record.result(performance.now() - startedAt);
}

/** What is known of one file so far. Within a file, node:test reports in the order of the source. */
class FileRecord {
  readonly #file: string;
  readonly #isFiltered: boolean;
  readonly #fileTimeoutMs: number;
  readonly #failures: Failure[] = [];
  readonly #skipped: string[] = [];
  readonly #names: string[] = [];
  #passed = 0;
  #output = "";

  constructor(file: string, options: { readonly isFiltered: boolean; readonly fileTimeoutMs: number }) {
    this.#file = file;
    this.#isFiltered = options.isFiltered;
    this.#fileTimeoutMs = options.fileTimeoutMs;
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
        `${this.#pathOf(data)}${typeof reason === "string" && reason !== "" ? `: ${reason}` : ""}`,
      );
    } else if (!this.#isFileItself(data.name)) {
      this.#passed += 1;
    } else if (!this.#isFiltered) {
      this.#failures.push({ place: this.#file, name: "the file itself", report: "it contains no test" });
    }
  }

  #fail(data: EventData.TestFail): void {
    const { error } = data.details;
    if (failureTypeOf(error) === "subtestsFailed") return;
    const place =
      data.line === undefined || this.#isFileItself(data.name) ? this.#file : `${this.#file}:${data.line}`;
    this.#failures.push({ place, name: this.#pathOf(data), report: this.#describe(error) });
  }

  /** What a file printed is shown with its first failure, and otherwise not at all. */
  result(durationMs: number): FileResult {
    const output = stripVTControlCharacters(this.#output).trim();
    const failures = this.#failures.map((failure, index) =>
      index > 0 || output === ""
        ? failure
        : { ...failure, report: `${failure.report}\n\nThe file printed:\n${output}` },
    );
    return { file: this.#file, passed: this.#passed, failures, skipped: this.#skipped, durationMs };
  }

  #isFileItself(name: string): boolean {
    return name === join(projectRoot, this.#file);
  }

  #pathOf({ name, nesting }: { readonly name: string; readonly nesting: number }): string {
    return this.#isFileItself(name)
      ? "the file itself"
      : [...this.#names.slice(0, nesting), name].join(" > ");
  }

  /** node:test wraps what was thrown; people want to see what was thrown. */
  #describe(error: unknown): string {
    if (failureTypeOf(error) === "testAborted") {
      return `not finished after ${this.#fileTimeoutMs / 1_000} s: it hangs, or leaves something open (a server, a timer)`;
    }
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    if (typeof cause === "string") return cause;
    // The message of an AssertionError already holds the difference; its properties would repeat it.
    const text = isAssertionError(cause) ? cause.stack : undefined;
    return withoutNodeFrames(text ?? inspect(cause, { depth: 6, colors: false }));
  }
}

/** It comes from another process, so that its class is lost. */
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
