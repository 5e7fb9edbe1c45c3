// Runs test files with node:test, each in its own process, and counts what happened.

import { join, relative } from "node:path";
import { run } from "node:test";
import type { EventData } from "node:test/reporters";
import { inspect, stripVTControlCharacters } from "node:util";
import { projectRoot } from "./source-files.ts";

export interface Failure {
  readonly file: string;
  /** The names of the test and of the suites around it. */
  readonly name: string;
  /** Everything there is to know, ready to print. */
  readonly report: string;
}

export interface Tally {
  readonly passed: number;
  readonly failures: readonly Failure[];
  /** Skipped tests, each with its reason. */
  readonly skipped: readonly string[];
}

export interface RunRequest {
  readonly files: readonly string[];
  readonly namePattern: string | undefined;
  /** A file that takes longer has failed: it hangs, or leaves something open. */
  readonly fileTimeoutMs: number;
  readonly onFileEnd: (file: FileEnd) => void;
}

export interface FileEnd {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly durationMs: number;
}

/** Two shared cores are what the project is developed and checked on. */
const concurrency = 2;

export async function runTests(request: RunRequest): Promise<Tally> {
  const files = new Map(request.files.map((file) => [file, new FileRecord(file)]));
  const recordOf = (path: string | undefined): FileRecord => {
    const file = path === undefined ? "" : relative(projectRoot, path);
    const record = files.get(file) ?? new FileRecord(file);
    files.set(file, record);
    return record;
  };
  const stream = run({
    files: request.files.map((file) => join(projectRoot, file)),
    concurrency,
    cwd: projectRoot,
    execArgv: ["--conditions=posthorn-source"],
    timeout: request.fileTimeoutMs,
    ...(request.namePattern === undefined ? {} : { testNamePatterns: [new RegExp(request.namePattern, "i")] }),
  });
  stream.on("test:start", (data) => recordOf(data.file).start(data));
  stream.on("test:pass", (data) => recordOf(data.file).pass(data));
  stream.on("test:fail", (data) => recordOf(data.file).fail(data));
  stream.on("test:stdout", (data) => recordOf(data.file).write(data.message));
  stream.on("test:stderr", (data) => recordOf(data.file).write(data.message));
  stream.on("test:summary", (data) => {
    if (data.file !== undefined) request.onFileEnd(recordOf(data.file).end(data.duration_ms));
  });
  for await (const _ of stream) {
    // The listeners above do the work; reading to the end keeps the stream flowing.
  }
  const records = [...files.values()];
  return {
    passed: records.reduce((sum, { passed }) => sum + passed, 0),
    failures: records.flatMap((record) => record.failures()),
    skipped: records.flatMap(({ skipped }) => skipped),
  };
}

/** What is known of one file so far. Within a file, node:test reports in the order of the source. */
class FileRecord {
  passed = 0;
  readonly skipped: string[] = [];
  readonly #file: string;
  readonly #failures: Failure[] = [];
  readonly #names: string[] = [];
  #output = "";

  constructor(file: string) {
    this.#file = file;
  }

  start({ name, nesting }: EventData.TestStart): void {
    this.#names.length = nesting;
    this.#names.push(name);
  }

  pass(data: EventData.TestPass): void {
    if (data.details.type === "suite") return;
    const reason = data.skip ?? data.todo;
    if (reason === undefined || reason === false) this.passed += 1;
    else this.skipped.push(`${this.#pathOf(data)}${typeof reason === "string" && reason !== "" ? `: ${reason}` : ""}`);
  }

  fail(data: EventData.TestFail): void {
    const { error, type } = data.details;
    const isOnlyBecauseOfChildren = failureTypeOf(error) === "subtestsFailed";
    if (isOnlyBecauseOfChildren) return;
    if (type === "suite" || data.todo === undefined || data.todo === false) {
      const where = data.line === undefined ? this.#file : `${this.#file}:${data.line}`;
      this.#failures.push({ file: where, name: this.#pathOf(data), report: describe(error) });
    }
  }

  write(text: string): void {
    this.#output += text;
  }

  end(durationMs: number): FileEnd {
    const { passed, skipped } = this;
    return { file: this.#file, passed, failed: this.#failures.length, skipped: skipped.length, durationMs };
  }

  /** What a file printed is shown with its first failure, and otherwise not at all. */
  failures(): Failure[] {
    const output = stripVTControlCharacters(this.#output).trim();
    return this.#failures.map((failure, index) =>
      index > 0 || output === "" ? failure : { ...failure, report: `${failure.report}\n\nprinted by the file:\n${output}` },
    );
  }

  #pathOf({ name, nesting }: { readonly name: string; readonly nesting: number }): string {
    const path = [...this.#names.slice(0, nesting), name].filter((part) => join(projectRoot, this.#file) !== part);
    return path.length === 0 ? "the file itself" : path.join(" > ");
  }
}

function failureTypeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "failureType" in error ? error.failureType : undefined;
}

/** node:test wraps what was thrown; people want to see what was thrown. */
function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return typeof cause === "string" ? cause : inspect(cause, { depth: 6, colors: false });
}
