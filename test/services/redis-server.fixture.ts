import { execFileSync } from "node:child_process";
import { leftovers } from "./leftovers.fixture.ts";
import { freePort, OwnProcess, ownFolder } from "./own-process.fixture.ts";

const startMsMax = 200_000;

/**
 * A Redis server for a single test, or Valkey if Redis is not installed. It does not store anything on disk, so it
 * starts empty.
 */
export class RedisServer {
  readonly url: string;
  readonly port: number;
  readonly #folder = ownFolder("redis", null);
  readonly #settings: readonly string[];
  #process: OwnProcess | null = null;

  private constructor(port: number, settings: readonly string[]) {
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
    this.#settings = settings;
  }

  /** Process ID of the server's main process; undefined while the server is stopped. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts the server with command-line options: `["--requirepass", "secret"]`. */
  static async start(settings: readonly string[] = []): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), settings);
    try {
      await server.start();
    } catch (error) {
      await server.remove();
      throw error;
    }
    return server;
  }

  /** Resolves when the server accepts connections, which may be before it has loaded the data in `--dir`. */
  async start(): Promise<void> {
    const server = new OwnProcess([
      program(),
      "--port",
      String(this.port),
      "--bind",
      "127.0.0.1",
      "--dir",
      this.#folder,
      "--save",
      "",
      ...this.#settings,
    ]);
    this.#process = server;
    await server.until(() => /ready to accept connections/i.test(server.output), {
      what: "Redis starts",
      withinMs: startMsMax,
    });
  }

  /** Stops the server gracefully: connections are closed. */
  async stop(): Promise<void> {
    await this.#process?.end("SIGTERM");
  }

  /** Stops the server as a power loss would. */
  async kill(): Promise<void> {
    await this.#process?.end("SIGKILL");
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Pauses the server. It does not respond, but the operating system still accepts connections for it. */
  pause(): void {
    this.#process?.signal("SIGSTOP");
  }

  resume(): void {
    this.#process?.signal("SIGCONT");
  }

  async remove(): Promise<void> {
    await this.kill();
    leftovers.removeFolder(this.#folder);
  }
}

function program(): string {
  for (const name of ["redis-server", "valkey-server"]) {
    try {
      execFileSync(name, ["--version"], { stdio: "ignore", timeout: 10_000 });
      return name;
    } catch {
      // Neither is installed on this machine.
    }
  }
  throw new Error("neither redis-server nor valkey-server is on this machine");
}
