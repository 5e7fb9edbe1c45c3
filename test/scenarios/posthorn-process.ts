/** A real `posthorn serve` in a process of its own, which a scenario can kill and start again on the same data. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const entry = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const readyMsMax = 20_000;

export interface ProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
}

export class PosthornProcess {
  readonly dataDir = mkdtempSync(join(tmpdir(), "posthorn-process-"));
  readonly port: number;
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | null = null;
  /** Everything the current process wrote, for messages of failed assertions. */
  output = "";

  private constructor(port: number, options: ProcessOptions) {
    this.port = port;
    this.#env = options.env ?? {};
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
    return readFileSync(join(this.dataDir, "admin.key"), "utf8").trim();
  }

  /** Resolves once `/readyz` answers 200. */
  async start(): Promise<void> {
    this.output = "";
    const child = spawn(process.execPath, [entry, "serve"], {
      env: {
        ...process.env,
        POSTHORN_DEV: "true",
        POSTHORN_PORT: String(this.port),
        POSTHORN_DATA_DIR: this.dataDir,
        POSTHORN_LOG_LEVEL: "warn",
        ...this.#env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    child.stdout.on("data", (chunk: Buffer) => (this.output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (this.output += chunk.toString()));
    await this.#untilReady(child);
  }

  /** Signal 9; resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** A graceful stop; resolves with the exit status. */
  async stop(): Promise<number | null> {
    return this.#end("SIGTERM");
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** A JSON call with the admin key. */
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

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    const exited = once(child, "exit");
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  }

  async #untilReady(child: ChildProcess): Promise<void> {
    const deadline = performance.now() + readyMsMax;
    for (;;) {
      if (child.exitCode !== null)
        throw new Error(`posthorn ended with status ${child.exitCode}:\n${this.output}`);
      const ready = await fetch(`${this.url}/readyz`).then(
        (response) => response.ok,
        () => false,
      );
      if (ready) return;
      if (performance.now() > deadline) throw new Error(`posthorn was not ready in time:\n${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
