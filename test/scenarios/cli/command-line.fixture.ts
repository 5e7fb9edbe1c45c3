/** The program as a user runs it: in a separate process, without the environment of the tests. */
import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Writable } from "node:stream";
import { runProgram } from "../../../src/cli/program.ts";
import { Terminal } from "../../../src/cli/terminal.ts";
import { programEntry } from "../../services/program.fixture.ts";

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

export interface Finished {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type Args = readonly string[];

/** A path inside a file, so the folder cannot be created. */
const nowhere = join(process.execPath, "none");

/** Runs a command until it exits. */
export async function posthorn(args: Args, options: RunOptions = {}): Promise<Finished> {
  const command = new RunningCommand(args, options);
  return command.finished;
}

/** Runs a client command in this process, to avoid starting another process. */
export async function posthornHere(args: Args, { env = {}, input = "" }: RunOptions = {}): Promise<Finished> {
  let stdout = "";
  let stderr = "";
  const out = { write: (text: string) => (stdout += text) };
  const err = { write: (text: string) => (stderr += text) };
  const status = await runProgram(args, {
    env,
    stdin: Readable.from(input === "" ? [] : [input]),
    terminal: (json, fields) => new Terminal(out, err, env, json, fields),
    exit: (ended) => {
      throw new Error(`ended with ${ended}`);
    },
  });
  return { status, stdout, stderr };
}

/** A command that runs until it is stopped. */
export class RunningCommand {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly finished: Promise<Finished>;
  stdout = "";
  stderr = "";
  /** Resolves when all output has arrived, which may be after the process has exited. */
  #isClosed = false;

  constructor(args: Args, options: RunOptions = {}) {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("POSTHORN_"));
    this.child = spawn(process.execPath, [programEntry, ...args], {
      cwd: options.cwd ?? tmpdir(),
      // The user's own configuration is neither read nor changed.
      env: { ...Object.fromEntries(inherited), XDG_CONFIG_HOME: nowhere, ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.child.stdout.on("data", (chunk: Buffer) => (this.stdout += chunk.toString()));
    this.child.stderr.on("data", (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.child.stdin.end(options.input ?? "");
    this.finished = once(this.child, "close").then(([status]) => {
      this.#isClosed = true;
      return { status: status as number | null, stdout: this.stdout, stderr: this.stderr };
    });
  }

  /** Resolves when the text has appeared in the command's output. */
  async until(pattern: RegExp, withinMs = 240_000): Promise<RegExpExecArray> {
    const endsAt = performance.now() + withinMs;
    for (;;) {
      const found = pattern.exec(this.stdout + this.stderr);
      if (found !== null) return found;
      if (this.#isClosed || performance.now() > endsAt) {
        throw new Error(`${String(pattern)} did not appear in:\n${this.stdout}\n${this.stderr}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  stop(signal: NodeJS.Signals = "SIGTERM"): Promise<Finished> {
    this.child.kill(signal);
    return this.finished;
  }
}

/** A folder that is removed at the end of the block that created it. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "posthorn-cli-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
