import { execFile, execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { leftovers } from "./leftovers.fixture.ts";
import { type Account, accountOf, freePort, OwnProcess, ownFolder } from "./own-process.fixture.ts";

/**
 * How to stop: `fast` closes connections and writes everything to disk. `immediate` simulates a crash, after which the
 * next start recovers from the log.
 */
export type StopMode = "fast" | "immediate";

const startMsMax = 200_000;
const stopSignals = { fast: "SIGINT", immediate: "SIGQUIT" } as const;

/**
 * A PostgreSQL server for a single test, with an unused port and a temporary folder. Tests can therefore stop it
 * without affecting others. Requires an installation with `initdb` and `postgres`. Data is as durable as in production:
 * fsync is on.
 */
export class PostgresServer {
  /** A separate, initially empty database. */
  readonly url: string;
  readonly port: number;
  readonly #folder: string;
  readonly #account: Account | null;
  readonly #settings: Readonly<Record<string, string>>;
  #process: OwnProcess | null = null;

  private constructor(
    port: number,
    parts: {
      readonly folder: string;
      readonly account: Account | null;
      readonly settings: Readonly<Record<string, string>>;
    },
  ) {
    this.port = port;
    this.#folder = parts.folder;
    this.#account = parts.account;
    this.#settings = parts.settings;
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  }

  /** Process ID of the server's main process; undefined while the server is stopped. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  static start(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
    return PostgresServer.#from((server) => server.#init(), settings);
  }

  /** Creates a standby of the server that runs on the given port. Replication is asynchronous. */
  static standbyOf(port: number): Promise<PostgresServer> {
    return PostgresServer.#from((server) => server.#copyFrom(port));
  }

  static async #from(
    make: (server: PostgresServer) => Promise<void>,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<PostgresServer> {
    const account = accountOf("postgres");
    const folder = ownFolder("postgres", account);
    const server = new PostgresServer(await freePort(), { folder, account, settings });
    try {
      await make(server);
      await server.start();
    } catch (error) {
      await server.remove();
      throw error;
    }
    return server;
  }

  /** Resolves when the server responds to queries. */
  async start(): Promise<void> {
    const settings = {
      port: this.port,
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: 200,
      fsync: "on",
      // Lets a standby that was disconnected for a while catch up.
      wal_keep_size: "512MB",
      ...this.#settings,
    };
    const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    this.#process = new OwnProcess([join(programs(), "postgres"), "-D", this.#folder, ...given], {
      account: this.#account,
      cwd: this.#folder,
      // On SIGQUIT, the child processes exit too. SIGKILL would leave shared memory behind.
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

  /** From now on, commits wait for a synchronous standby that is missing. Resolves when this takes effect. */
  async loseStandby(): Promise<void> {
    await this.query("ALTER SYSTEM SET synchronous_standby_names = 'absent'");
    await this.query("SELECT pg_reload_conf()");
    const waiting =
      "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE 'SELECT pg_logical_emit_message%'";
    // The server applies the setting asynchronously.
    for (let waits = false; !waits; ) {
      void this.query("SELECT pg_logical_emit_message(true, 'test', '')").catch(() => undefined);
      waits = (await this.query(`SELECT pg_terminate_backend(pid) ${waiting}`)).length > 0;
    }
  }

  /** From now on, commits no longer wait for a standby. */
  async needNoStandby(): Promise<void> {
    await this.query("ALTER SYSTEM RESET synchronous_standby_names");
    await this.query("SELECT pg_reload_conf()");
  }

  /** Makes the server read-only after its next start, until it is promoted. */
  becomeStandby(): void {
    writeFileSync(join(this.#folder, "standby.signal"), "");
  }

  async kill(): Promise<void> {
    await this.stop("immediate");
  }

  async restart(mode: StopMode = "fast"): Promise<void> {
    await this.stop(mode);
    await this.start();
  }

  /** Copies the data folder of a stopped server. Returns the path of the copy. */
  copyFolder(): string {
    const copy = ownFolder("postgres-copy", this.#account);
    copyTree(this.#folder, copy);
    return copy;
  }

  /** Replaces the data folder of a stopped server with a copy, as a restore does. */
  replaceFolder(copy: string): void {
    for (const name of readdirSync(this.#folder)) rmSync(join(this.#folder, name), { recursive: true });
    copyTree(copy, this.#folder);
    leftovers.removeFolder(copy);
  }

  /** Runs statements as an administrator would. */
  async query(sql: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5_000 });
    // The server may stop at any time, even while the client disconnects.
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

  /** Copies a primary. The copy does not use the primary's setting for its own standbys. */
  async #copyFrom(port: number): Promise<void> {
    const from = ["-h", "127.0.0.1", "-p", String(port), "-U", "postgres", "-D", this.#folder];
    const options = ["--write-recovery-conf", "--checkpoint=fast", "--no-sync"];
    await this.#run("pg_basebackup", [...from, ...options]);
    const settings = join(this.#folder, "postgresql.auto.conf");
    const kept = readFileSync(settings, "utf8")
      .split("\n")
      .filter((line) => !line.startsWith("synchronous_standby_names"));
    writeFileSync(settings, kept.join("\n"));
  }

  async #init(): Promise<void> {
    const options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"];
    await this.#run("initdb", [...options, "-D", this.#folder]);
  }

  /** Must not block, because this process may serve the connection that the program uses. */
  async #run(program: string, given: readonly string[]): Promise<void> {
    await promisify(execFile)(join(programs(), program), given, {
      cwd: this.#folder,
      timeout: startMsMax,
      ...this.#account,
    });
  }
}

/** Keeps owners and modes, because PostgreSQL refuses a folder that others can read. */
function copyTree(from: string, to: string): void {
  execFileSync("cp", ["-a", `${from}/.`, to]);
}

/** Names the folder that contains `initdb` and `postgres` of the version to test. */
export const postgresProgramsVariable = "POSTHORN_TEST_POSTGRES_PROGRAMS";

/** Returns the folder that contains `initdb` and `postgres`. Debian has one folder per version. */
function programs(): string {
  const given = process.env[postgresProgramsVariable];
  if (given !== undefined && given !== "") return given;
  const versions = "/usr/lib/postgresql";
  try {
    const [newest] = readdirSync(versions).toSorted((a, b) => Number(b) - Number(a));
    if (newest !== undefined) return join(versions, newest, "bin");
  } catch {
    // This is not a Debian system.
  }
  return execFileSync("pg_config", ["--bindir"]).toString().trim();
}
