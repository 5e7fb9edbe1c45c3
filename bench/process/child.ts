import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Answer, Call, Calls, Usage } from "./serve-calls.ts";

/** The certificate of the sink, which all contestants trust. */
const sinkCertificate = fileURLToPath(new URL("../sink/certificate/certificate.pem", import.meta.url));

/**
 * A child process for one role (sink, raw, product) that is controlled by calls. Every contestant runs in one, so that
 * no measurement shares an event loop or a heap with the harness or with another contestant.
 */
export class Child<Own extends Calls> {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #name: string;
  #calls = 0;
  #ended = false;

  constructor(script: URL, env: Readonly<Record<string, string>> = {}) {
    this.#name = script.pathname.split("/").slice(-2).join("/");
    // Standard output is reserved for the result table.
    this.#process = fork(script, [], {
      stdio: ["ignore", 2, 2, "ipc"],
      serialization: "advanced",
      env: { ...process.env, NODE_EXTRA_CA_CERTS: sinkCertificate, ...env },
    });
    this.#process.on("message", (message) => this.#answered(message as Answer));
    this.#process.on("error", (error) => this.#fail(error));
    this.#process.on("exit", (code, signal) => {
      this.#ended = true;
      this.#fail(new Error(`${this.#name} ended with ${signal ?? code}`));
    });
  }

  /** Calls a handler of the process. The types come from the handlers in the main file of the process. */
  call<Name extends string & keyof Own>(
    method: Name,
    ...[input]: Parameters<Own[Name]>
  ): Promise<Awaited<ReturnType<Own[Name]>>> {
    return this.#send(method, input);
  }

  /** CPU time and memory use since the start of the process. */
  usage(): Promise<Usage> {
    return this.#send("usage");
  }

  startProfile(): Promise<void> {
    return this.#send("startProfile");
  }

  stopProfile(file: string): Promise<void> {
    return this.#send("stopProfile", { file });
  }

  /**
   * Restricts the process to the first `cores` cores of the machine. The process then also reports that number of
   * cores. Needs `taskset` of util-linux, so it throws on systems other than Linux.
   */
  keepToCores(cores: number): void {
    const ofAllThreads = ["--all-tasks", "--pid", "--cpu-list", `0-${cores - 1}`, String(this.#process.pid)];
    execFileSync("taskset", ofAllThreads, { stdio: "ignore" });
  }

  /** Kills the process immediately. To close resources properly, make a call first. */
  async kill(): Promise<void> {
    if (this.#ended) return;
    const ended = new Promise((resolve) => {
      this.#process.once("exit", resolve);
    });
    this.#process.kill("SIGKILL");
    await ended;
  }

  #send<Result>(method: string, input: unknown = null): Promise<Result> {
    if (this.#ended) return Promise.reject(new Error(`${this.#name} has ended`));
    const id = (this.#calls += 1);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { promise, resolve, reject });
    const call: Call = { id, method, input };
    this.#process.send(call);
    return promise as Promise<Result>;
  }

  #answered(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    if (waiting === undefined) return;
    this.#waiting.delete(answer.id);
    if (answer.error === undefined) waiting.resolve(answer.result);
    else waiting.reject(new Error(`${this.#name}: ${answer.error}`));
  }

  #fail(error: Error): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
