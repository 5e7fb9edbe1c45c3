/**
 * Several real Posthorn processes on one PostgreSQL database, each with its own roles. RabbitMQ and Redis are optional.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestDatabase, type TestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { itemsOf, type Json, textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { ServeRun, serverUnderTest } from "../posthorn-process.fixture.ts";
import { type CompanionName, type OwnPrefixes, ownPrefixes } from "./own-prefixes.fixture.ts";

export interface Reply {
  readonly status: number;
  readonly body: Json;
}

export class ClusterProcess extends ServeRun {
  url: string | null = null;
  /** URL of a process without the API. It serves the probes and, with the role `gateway`, the addresses of sources. */
  probesUrl: string | null = null;

  /** The worker number that the process got when it last joined the workers; null if it never joined. */
  get worker(): number | null {
    const found = [...this.output.matchAll(/"worker":(\d+)[^\n]*joined the workers/g)].at(-1);
    return found === undefined ? null : Number(found[1]);
  }

  /** Resolves when the process reports that it is running. */
  async ready(): Promise<void> {
    await this.startsUntil(() => this.output.includes("posthorn is running"));
    this.url = /"url":"([^"]+)"/.exec(this.output)?.[1] ?? null;
    this.probesUrl = /"probesUrl":"([^"]+)"/.exec(this.output)?.[1] ?? null;
  }
}

interface Surroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly prefixes: OwnPrefixes | null;
}

export class Cluster {
  readonly adminKey = "a key that only this cluster knows";
  readonly database: TestDatabase;
  readonly #dataDir = mkdtempSync(join(tmpdir(), "posthorn-cluster-"));
  readonly #processes: ClusterProcess[] = [];
  /** Null if neither RabbitMQ nor Redis is used. */
  readonly prefixes: OwnPrefixes | null;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(database: TestDatabase, surroundings: Surroundings) {
    this.database = database;
    this.prefixes = surroundings.prefixes;
    this.#env = surroundings.env;
  }

  static async open(env: Readonly<Record<string, string>> = {}): Promise<Cluster> {
    return new Cluster(await createTestDatabase(), { env, prefixes: null });
  }

  /** Uses queues on RabbitMQ, state in Redis, or both, each under a separate prefix. */
  static async openDistributed(
    env: Readonly<Record<string, string>> = {},
    companions?: readonly CompanionName[],
  ): Promise<Cluster> {
    const prefixes = ownPrefixes(companions);
    return new Cluster(await createTestDatabase(), { env: { ...prefixes.env, ...env }, prefixes });
  }

  /**
   * Starts one process for each list of roles, such as `api` or `scheduler,worker`. All processes start concurrently.
   */
  start(...roles: readonly string[]): Promise<readonly ClusterProcess[]> {
    return this.startWith({}, roles);
  }

  /** Same as `start`, with additional settings such as the worker pool. */
  async startWith(
    env: Readonly<Record<string, string>>,
    roles: readonly string[],
  ): Promise<readonly ClusterProcess[]> {
    const started = roles.map((each) => this.#spawn(each, env));
    await Promise.all(started.map((process) => process.ready()));
    return started;
  }

  /** Makes a JSON call to a process with the role `api`. */
  async call(process: ClusterProcess, request: string, body?: unknown): Promise<Reply> {
    const [method = "GET", path = "/"] = request.split(" ");
    const response = await fetch(`${process.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.adminKey}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text === "" ? "null" : text) as Json };
  }

  /** Creates a webhook and returns its ID. */
  async addWebhook(process: ClusterProcess, webhook: Record<string, unknown>): Promise<string> {
    const { status, body } = await this.call(process, "POST /v1/webhooks", webhook);
    if (status !== 201) throw new Error(`webhook refused: ${status} ${JSON.stringify(body)}`);
    return textOf(body["id"]);
  }

  /** Publishes one event for each item of data and returns the IDs. */
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

  /** Waits until a process owns the webhook, and returns that process. */
  async ownerOf(webhookId: string): Promise<ClusterProcess> {
    const ask = async () => {
      const [row] = await this.database.query(
        `SELECT o.worker FROM posthorn.ownership o JOIN posthorn.strings w ON w.ref = o.webhook
         WHERE w.string = '${webhookId}' AND o.worker IS NOT NULL`,
      );
      return this.#processes.find(({ worker }) => worker !== null && worker === row?.["worker"]) ?? null;
    };
    const owner = await eventually(`an owner of ${webhookId}`, { ask, holds: (found) => found !== null });
    if (owner === null) throw new Error("no owner");
    return owner;
  }

  /**
   * Resolves when this many workers have sent another heartbeat. Each of them then knows how many workers share a
   * limit.
   */
  async everyWorkerHeard(count: number): Promise<void> {
    const [now] = await this.database.query("SELECT max(alive_until)::text AS latest FROM posthorn.workers");
    await eventually("every worker has had a heartbeat", {
      ask: () =>
        this.count(`SELECT count(*) FROM posthorn.workers WHERE alive_until > '${String(now?.["latest"])}'`),
      holds: (workers) => workers === count,
    });
  }

  /** Runs an administrative query that returns a single number. */
  async count(sql: string): Promise<number> {
    const [row] = await this.database.query(`SELECT (${sql})::int AS count`);
    return Number(row?.["count"]);
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.end("SIGKILL")));
    await this.prefixes?.remove();
    await this.database.drop();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  #spawn(roles: string, env: Readonly<Record<string, string>>): ClusterProcess {
    const made = new ClusterProcess({
      ...serverUnderTest,
      POSTHORN_DATA_DIR: this.#dataDir,
      POSTHORN_DATABASE_URL: this.database.url,
      // Limits the connections of each process, because several clusters share a server that allows only a hundred.
      POSTHORN_DATABASE_CONNECTIONS: "5",
      POSTHORN_ADMIN_KEY: this.adminKey,
      POSTHORN_ROLES: roles,
      POSTHORN_SHUTDOWN_GRACE_MS: "5000",
      ...this.#env,
      ...env,
    });
    this.#processes.push(made);
    return made;
  }
}
