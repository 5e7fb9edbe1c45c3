import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { leftovers } from "./leftovers.ts";
import { type Account, accountOf, freePort, OwnProcess, ownFolder } from "./own-process.ts";

/** `fast` ends connections and writes everything out; `immediate` is a crash: the next start recovers from the log. */
export type StopMode = "fast" | "immediate";

const startMsMax = 60_000;
const stopSignals = { fast: "SIGINT", immediate: "SIGQUIT" } as const;

/**
 * A PostgreSQL server of a test's own, on a free port and in a temporary folder, so that it can be stopped without anybody
 * else noticing. Needs `initdb` and `postgres` of an installation here. Durable as in production: fsync is on.
 */
export class PostgresServer {
  /** Of a database of its own, which is empty at first. */
  readonly url: string;
  readonly port: number;
  readonly #folder: string;
  readonly #account: Account | null;
  #process: OwnProcess | null = null;

  private constructor(port: number, { folder, account }: { folder: string; account: Account | null }) {
    this.port = port;
    this.#folder = folder;
    this.#account = account;
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  }

  static async start(): Promise<PostgresServer> {
    const account = accountOf("postgres");
    const folder = ownFolder("postgres", account);
    const server = new PostgresServer(await freePort(), { folder, account });
    try {
      server.#init();
      await server.start();
    } catch (error) {
      await server.remove();
      throw error;
    }
    return server;
  }

  /** Resolves once it answers queries. */
  async start(): Promise<void> {
    const settings = {
      port: this.port,
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: 200,
      fsync: "on",
    };
    const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    this.#process = new OwnProcess([join(programs(), "postgres"), "-D", this.#folder, ...given], {
      ...{ account: this.#account, cwd: this.#folder },
      // Its children notice; after SIGKILL shared memory would stay behind.
      killSignal: "SIGQUIT",
    });
    const answers = () =>
      this.query("SELECT 1").then(
        () => true,
        () => false,
      );
    await this.#process.until(answers, { what: "PostgreSQL starts", withinMs: startMsMax });
  }

  async stop(mode: StopMode = "fast"): Promise<void> {
    await this.#process?.end(stopSignals[mode]);
  }

  async kill(): Promise<void> {
    await this.stop("immediate");
  }

  async restart(mode: StopMode = "fast"): Promise<void> {
    await this.stop(mode);
    await this.start();
  }

  /** Runs statements as an operator would. */
  async query(sql: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5_000 });
    // The server may go at any moment, also while the client says goodbye.
    client.on("error", () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async remove(): Promise<void> {
    await this.stop("immediate");
    leftovers.removeFolder(this.#folder);
  }

  #init(): void {
    const options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"];
    execFileSync(join(programs(), "initdb"), [...options, "-D", this.#folder], {
      ...{ stdio: "pipe", cwd: this.#folder, timeout: startMsMax },
      ...this.#account,
    });
  }
}

/** Where `initdb` and `postgres` are: Debian keeps them aside, by version. */
function programs(): string {
  const versions = "/usr/lib/postgresql";
  try {
    const [newest] = readdirSync(versions).toSorted((a, b) => Number(b) - Number(a));
    if (newest !== undefined) return join(versions, newest, "bin");
  } catch {
    // Not Debian.
  }
  return execFileSync("pg_config", ["--bindir"]).toString().trim();
}
