/** A real `posthorn serve` in a separate process. A scenario can kill it and start it again on the same data. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OwnProcess } from "../services/own-process.fixture.ts";
import { programEntry } from "../services/program.fixture.ts";

/** Ends a test that will never pass. A busy machine needs more than a minute to start a cluster. */
const readyMsMax = 300_000;

/** Settings for servers under test: an unused port, receivers on this machine, a readable log. */
export const serverUnderTest = {
  POSTHORN_PORT: "0",
  POSTHORN_MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
  POSTHORN_EGRESS_ALLOW: "127.0.0.0/8",
  POSTHORN_EGRESS_ALLOW_HTTP: "true",
  POSTHORN_LOG_LEVEL: "info",
  POSTHORN_LOG_FORMAT: "json",
} as const;

/** One run of `posthorn serve`, from its start to its end. */
export class ServeRun extends OwnProcess {
  /**
   * `env` is added to the environment of the tests. `wrap` makes the process the child of another program, such as one
   * that sets limits.
   */
  constructor(
    env: Readonly<Record<string, string>>,
    wrap: (command: readonly string[]) => readonly string[] = (command) => command,
  ) {
    super(wrap([process.execPath, programEntry, "serve"]), { env });
  }

  /** Resolves when the condition holds; rejects if the process ends first or takes too long. */
  startsUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
    return this.until(holds, { what: "posthorn starts", withinMs: readyMsMax });
  }

  /** Ending the program on a busy machine may take longer than ending other programs. */
  override end(name: NodeJS.Signals, withinMs = readyMsMax): Promise<number | null> {
    return super.end(name, withinMs);
  }
}

export interface ProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** See `ServeRun`. */
  readonly wrap?: (command: readonly string[]) => readonly string[];
  /** An empty folder to use instead of a new one. */
  readonly dataDir?: string;
}

export class PosthornProcess {
  readonly dataDir: string;
  readonly port: number;
  readonly #env: Readonly<Record<string, string>>;
  readonly #wrap: ProcessOptions["wrap"];
  #run: ServeRun | null = null;

  private constructor(port: number, options: ProcessOptions) {
    this.port = port;
    this.dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "posthorn-process-"));
    this.#env = options.env ?? {};
    this.#wrap = options.wrap;
  }

  static async start(options: ProcessOptions = {}): Promise<PosthornProcess> {
    const made = new PosthornProcess(await freePort(), options);
    await made.start();
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get adminKey(): string {
    const given = this.#env["POSTHORN_ADMIN_KEY"];
    if (given !== undefined) return given;
    return readFileSync(join(this.dataDir, "admin.key"), "utf8").trim();
  }

  get hasEnded(): boolean {
    return this.#run?.isRunning !== true;
  }

  /** All output of the last run. */
  get output(): string {
    return this.#run?.output ?? "";
  }

  /** Resolves when `/readyz` returns 200. */
  async start(): Promise<void> {
    this.#run = new ServeRun(
      {
        POSTHORN_DEV: "true",
        POSTHORN_PORT: String(this.port),
        POSTHORN_DATA_DIR: this.dataDir,
        POSTHORN_LOG_LEVEL: "warn",
        ...this.#env,
      },
      this.#wrap,
    );
    await this.#run.startsUntil(() =>
      fetch(`${this.url}/readyz`).then(
        (response) => response.ok,
        () => false,
      ),
    );
  }

  /** Sends signal 9; resolves when the process has ended. */
  async kill(): Promise<void> {
    await this.#run?.end("SIGKILL");
  }

  /** Stops the process gracefully; resolves with the exit status. */
  async stop(): Promise<number | null> {
    return (await this.#run?.end("SIGTERM")) ?? null;
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** Makes a JSON call with the admin key. */
  async call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.adminKey}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? null : (JSON.parse(text) as unknown) };
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
