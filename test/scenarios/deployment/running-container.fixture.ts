import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

const startMsMax = 240_000;

export interface ContainerStart {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** The complete environment, except for PATH. */
  readonly env: Readonly<Record<string, string>>;
}

/** A process with the environment of its container, except that it uses an unused port. */
export class RunningContainer {
  readonly #child: ChildProcess;
  output = "";
  port = 0;

  private constructor({ command, env }: ContainerStart) {
    const [program = "", ...args] = command;
    this.#child = spawn(program, args, {
      env: { PATH: process.env["PATH"] ?? "", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on("data", (chunk: Buffer) => (this.output += chunk.toString()));
  }

  /** Resolves when the process reports that it is running. */
  static async start(start: ContainerStart): Promise<RunningContainer> {
    const made = new RunningContainer({ ...start, env: { ...start.env, POSTHORN_PORT: "0" } });
    const deadline = performance.now() + startMsMax;
    while (!made.output.includes('"posthorn is running"')) {
      if (made.#child.exitCode !== null) throw new Error(`it ended:\n${made.output}`);
      if (performance.now() > deadline) throw new Error(`it did not start in time:\n${made.output}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    // The API's port, or the port of the probes if the process does not serve the API.
    made.port = Number(/"(?:url|probesUrl)":"[^"]+:(\d+)"/.exec(made.output)?.[1]);
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Paths that probes and Prometheus request. */
  async assertAnswersProbes(): Promise<void> {
    for (const path of ["/livez", "/readyz"]) assert.equal((await fetch(this.url + path)).status, 200, path);
    assert.match(await this.metrics(), /^webhook_queue_depth\{priority="low"\} \d/m);
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.url}/metrics`)).text();
  }

  /**
   * Requests a stop in the same way as Docker and Kubernetes. The process must exit without being killed, and quickly
   * if nothing is in flight.
   */
  async assertEndsWithin(graceMs: number): Promise<void> {
    const exited = once(this.#child, "exit");
    const askedAtMs = performance.now();
    this.#child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null], this.output);
    assert.ok(performance.now() - askedAtMs < graceMs);
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}
