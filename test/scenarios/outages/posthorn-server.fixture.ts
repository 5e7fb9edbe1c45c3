import { ServeRun } from "../posthorn-process.fixture.ts";

const stopMsMax = 30_000;

/** One Posthorn process of a deployment, which can be killed, paused and started again. */
export class PosthornServer {
  readonly name: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #runs: ServeRun[] = [];
  /** URL of the API; null if the process does not serve the API or is stopped. */
  url: string | null = null;
  #probesUrl: string | null = null;

  constructor(name: string, env: Readonly<Record<string, string>>) {
    this.name = name;
    this.#env = env;
  }

  /** Resolves when the process reports that it is running. */
  async start(): Promise<void> {
    const run = new ServeRun(this.#env);
    this.#runs.push(run);
    await run.startsUntil(() => run.output.includes("posthorn is running"));
    this.url = /"url":"([^"]+)"/.exec(run.output)?.[1] ?? null;
    this.#probesUrl = this.url ?? /"probesUrl":"([^"]+)"/.exec(run.output)?.[1] ?? null;
  }

  /** Reasons that `/readyz` reports, prefixed with the name of the process. */
  async complaints(): Promise<readonly string[]> {
    try {
      const response = await fetch(`${this.#probesUrl}/readyz`);
      const { reasons } = (await response.json()) as { readonly reasons: readonly string[] };
      return reasons.map((reason) => `${this.name}: ${reason}`);
    } catch {
      return [`${this.name}: no answer`];
    }
  }

  get isRunning(): boolean {
    return this.#runs.at(-1)?.isRunning === true;
  }

  /** The combined output of all runs. */
  get output(): string {
    return this.#runs.map(({ output }) => output).join("");
  }

  /** The worker number that the process got when it last joined the workers; null if it never joined. */
  get worker(): number | null {
    const found = [...this.output.matchAll(/"worker":(\d+)[^\n]*joined the workers/g)].at(-1);
    return found === undefined ? null : Number(found[1]);
  }

  async kill(): Promise<void> {
    this.url = null;
    await this.#runs.at(-1)?.end("SIGKILL");
  }

  /** Stops the process gracefully; resolves with the exit status. */
  async stop(): Promise<number | null> {
    this.url = null;
    return (await this.#runs.at(-1)?.end("SIGTERM", stopMsMax)) ?? null;
  }

  pause(): void {
    this.#runs.at(-1)?.signal("SIGSTOP");
  }

  resume(): void {
    this.#runs.at(-1)?.signal("SIGCONT");
  }

  /** Warnings and errors in the process's log: each message once, with its count and its last line. */
  get troubles(): string {
    const lines = this.output
      .split("\n")
      .filter((line) => line !== "" && !/"level":"(info|debug)"/.test(line));
    const groups = Map.groupBy(lines, (line) => /"msg":"[^"]*"/.exec(line)?.[0] ?? line);
    return [...groups.values()].map((group) => `${group.length} x ${group.at(-1)?.slice(0, 400)}\n`).join("");
  }
}
