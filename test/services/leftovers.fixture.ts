import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";

/**
 * Removes servers and folders of a test after it, even if its process is killed: a shell waits for the end of a pipe
 * that only the test holds, and then runs the last line it was given.
 */
class Leftovers {
  readonly #processes = new Map<number, NodeJS.Signals>();
  readonly #folders = new Set<string>();
  #shell: ChildProcess | null = null;

  /** `signal` ends it at once, together with its children. */
  process(pid: number, signal: NodeJS.Signals): void {
    this.#processes.set(pid, signal);
    this.#tell();
  }

  processEnded(pid: number): void {
    if (this.#processes.delete(pid)) this.#tell();
  }

  folder(path: string): void {
    this.#folders.add(path);
    this.#tell();
  }

  removeFolder(path: string): void {
    rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    if (this.#folders.delete(path)) this.#tell();
  }

  #tell(): void {
    const { stdin } = (this.#shell ??= startShell());
    const ends = [...this.#processes].map(([pid, signal]) => `kill -${signal.slice(3)} ${pid}`);
    const folders = [...this.#folders].map((path) => `rm -rf '${path}'`);
    const pause = ends.length > 0 && folders.length > 0 ? ["sleep 1"] : [];
    stdin?.write(`${[...ends, ...pause, ...folders, ":"].join("; ")}\n`);
  }
}

function startShell(): ChildProcess {
  const waits = 'while IFS= read -r line; do last=$line; done; eval "$last"';
  const shell = spawn("/bin/sh", ["-c", waits], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  // Its failure does not fail the test; the fixtures clean up as well.
  shell.on("error", () => undefined);
  shell.stdin.on("error", () => undefined);
  shell.unref();
  if ("unref" in shell.stdin && typeof shell.stdin.unref === "function") shell.stdin.unref();
  return shell;
}

export const leftovers = new Leftovers();
