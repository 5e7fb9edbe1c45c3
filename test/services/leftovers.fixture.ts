import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";

/**
 * Removes the servers and folders of a test at its end, even if the test's process is killed. A shell waits for the end
 * of a pipe that only the test holds open, and then runs the last line that it received.
 */
class Leftovers {
  readonly #processes = new Map<number, NodeJS.Signals>();
  readonly #folders = new Set<string>();
  #shell: ChildProcess | null = null;

  /** `signal` must end the process immediately, together with its children. */
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
  // If the shell fails, the test does not fail, because the fixtures clean up as well.
  shell.on("error", () => undefined);
  shell.stdin.on("error", () => undefined);
  shell.unref();
  if ("unref" in shell.stdin && typeof shell.stdin.unref === "function") shell.stdin.unref();
  return shell;
}

export const leftovers = new Leftovers();
