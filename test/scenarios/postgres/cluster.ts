/** Several real Posthorn processes on one PostgreSQL database, each with its roles. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createTestDatabase, type TestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { itemsOf, type Json, textOf } from "../api/client.ts";
import { eventually } from "../eventually.ts";

const entry = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));
const startMsMax = 30_000;
const adminKey = "a key that only this cluster knows";

export interface Reply {
  readonly status: number;
  readonly body: Json;
}

class ClusterProcess {
  readonly #child: ChildProcess;
  output = "";
  url: string | null = null;

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => (this.output += chunk.toString()));
  }

  /** The number under which it last joined the workers; null when it never did. */
  get worker(): number | null {
    const found = [...this.output.matchAll(/"worker":(\d+)[^\n]*joined the workers/g)].at(-1);
    return found === undefined ? null : Number(found[1]);
  }

  /** Once it says that it runs. */
  async ready(): Promise<void> {
    const deadline = performance.now() + startMsMax;
    while (!this.output.includes("posthorn is running")) {
      if (this.#child.exitCode !== null) throw new Error(`posthorn ended:\n${this.output}`);
      if (performance.now() > deadline) throw new Error(`posthorn did not start in time:\n${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.url = /"url":"([^"]+)"/.exec(this.output)?.[1] ?? null;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Resolves with the exit status when it is gone. */
  async end(name: NodeJS.Signals): Promise<number | null> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#child.exitCode;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGCONT");
    this.#child.kill(name);
    const [code] = (await gone) as [number | null];
    return code;
  }
}

export class Cluster {
  readonly database: TestDatabase;
  readonly #dataDir = mkdtempSync(join(tmpdir(), "posthorn-cluster-"));
  readonly #processes: ClusterProcess[] = [];

  readonly #env: Readonly<Record<string, string>>;

  private constructor(database: TestDatabase, env: Readonly<Record<string, string>>) {
    this.database = database;
    this.#env = env;
  }

  static async open(env: Readonly<Record<string, string>> = {}): Promise<Cluster> {
    return new Cluster(await createTestDatabase(), env);
  }

  /** Starts a process for each list of roles, such as `api` or `scheduler,worker`, all at once. */
  async start(...roles: readonly string[]): Promise<readonly ClusterProcess[]> {
    const started = roles.map((each) => this.#spawn(each));
    await Promise.all(started.map((process) => process.ready()));
    return started;
  }

  /** A JSON call to a process that has the role `api`. */
  async call(process: ClusterProcess, request: string, body?: unknown): Promise<Reply> {
    const [method = "GET", path = "/"] = request.split(" ");
    const response = await fetch(`${process.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text === "" ? "null" : text) as Json };
  }

  /** Makes a webhook and returns its id. */
  async addWebhook(process: ClusterProcess, webhook: Record<string, unknown>): Promise<string> {
    const { status, body } = await this.call(process, "POST /v1/webhooks", webhook);
    if (status !== 201) throw new Error(`webhook refused: ${status} ${JSON.stringify(body)}`);
    return textOf(body["id"]);
  }

  /** Publishes one event for each of the data given and returns their ids. */
  async publish(process: ClusterProcess, eventType: string, data: readonly object[]): Promise<string[]> {
    const ids: string[] = [];
    for (let from = 0; from < data.length; from += 500) {
      const events = data.slice(from, from + 500).map((each) => ({ event_type: eventType, data: each }));
      const { status, body } = await this.call(process, "POST /v1/events/batch", { events });
      if (status !== 202) throw new Error(`events refused: ${status} ${JSON.stringify(body)}`);
      ids.push(...itemsOf(body["results"]).map((result) => textOf(result["id"])));
    }
    return ids;
  }

  /** The process that owns a webhook, once one does. */
  async ownerOf(webhookId: string): Promise<ClusterProcess> {
    const ask = async () => {
      const [row] = await this.database.query(
        `SELECT o.worker FROM posthorn.ownership o JOIN posthorn.words w ON w.ref = o.webhook
         WHERE w.word = '${webhookId}' AND o.worker IS NOT NULL`,
      );
      return this.#processes.find(({ worker }) => worker !== null && worker === row?.["worker"]) ?? null;
    };
    const owner = await eventually(`an owner of ${webhookId}`, { ask, holds: (found) => found !== null });
    if (owner === null) throw new Error("no owner");
    return owner;
  }

  /** One number that a query of the operator returns. */
  async count(sql: string): Promise<number> {
    const [row] = await this.database.query(`SELECT (${sql})::int AS count`);
    return Number(row?.["count"]);
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.end("SIGKILL")));
    await this.database.drop();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  #spawn(roles: string): ClusterProcess {
    const child = spawn(process.execPath, [entry, "serve"], {
      env: {
        ...process.env,
        POSTHORN_PORT: "0",
        POSTHORN_DATA_DIR: this.#dataDir,
        POSTHORN_DATABASE_URL: this.database.url,
        POSTHORN_MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
        POSTHORN_ADMIN_KEY: adminKey,
        POSTHORN_ROLES: roles,
        POSTHORN_EGRESS_ALLOW: "127.0.0.0/8",
        POSTHORN_EGRESS_ALLOW_HTTP: "true",
        POSTHORN_LOG_LEVEL: "info",
        POSTHORN_LOG_FORMAT: "json",
        POSTHORN_SHUTDOWN_GRACE_MS: "5000",
        ...this.#env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const made = new ClusterProcess(child);
    this.#processes.push(made);
    return made;
  }
}
