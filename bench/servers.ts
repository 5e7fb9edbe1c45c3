import amqplib from "amqplib";
import pg from "pg";
import { createClient } from "redis";
import { PostgresServer } from "../test/services/postgres-server.fixture.ts";
import { RabbitmqServer } from "../test/services/rabbitmq-server.fixture.ts";
import { RedisServer } from "../test/services/redis-server.fixture.ts";
import type { Folders } from "./folders.ts";
import { treeCpuMs } from "./process/process-tree.ts";
import type { Home } from "./product/product.ts";
import { RowSkippedError } from "./row.ts";

/**
 * Servers that a row starts for its exclusive use. They use default settings, so they are durable. They stop with the
 * harness, and their data is removed.
 */
export interface Servers {
  readonly home: Home;
  readonly postgres: PostgresServer;
  /** CPU time of each server and its children since it started. */
  cpuMs(): Readonly<Record<string, number>>;
  /**
   * Call this after a run. Throws if Posthorn did not use RabbitMQ and Redis, because the run then measured a different
   * mode.
   */
  verifyUsed(): Promise<void>;
  remove(): Promise<void>;
}

interface Server {
  readonly pid: number | undefined;
  remove(): Promise<void>;
}

/** The benchmark uses a fixed secret, because it protects nothing. */
const masterKey = Buffer.alloc(32, 3).toString("base64");

/** Starts PostgreSQL and, with `isDistributed`, RabbitMQ and Redis. Skips the row if one of them cannot be started. */
export async function startServers(
  folders: Folders,
  isDistributed: boolean,
  postgresSettings: Readonly<Record<string, string>> = {},
): Promise<Servers> {
  const started = new Map<string, Server>();
  const remove = async (): Promise<void> => {
    await Promise.all([...started.values()].map((server) => server.remove()));
  };
  const start = async <Started extends Server>(
    name: string,
    starting: Promise<Started>,
  ): Promise<Started> => {
    try {
      const server = await starting;
      started.set(name, server);
      return server;
    } catch (error) {
      await remove();
      throw new RowSkippedError(`${name} cannot be started: ${String(error).split("\n")[0]}`);
    }
  };
  const postgres = await start("PostgreSQL", PostgresServer.start(postgresSettings));
  const queueUrl = isDistributed ? (await start("RabbitMQ", RabbitmqServer.start())).url : null;
  const redisUrl = isDistributed ? (await start("Redis", RedisServer.start())).url : null;
  const companions = queueUrl === null || redisUrl === null ? {} : { queueUrl, redisUrl };
  return {
    home: {
      dataDir: folders.fresh("servers"),
      servers: { databaseUrl: postgres.url, masterKey, ...companions },
    },
    postgres,
    cpuMs: () => Object.fromEntries([...started].map(([name, { pid = 0 }]) => [name, treeCpuMs(pid)])),
    verifyUsed: async () => {
      if (queueUrl !== null) await verifyQueue(queueUrl);
      if (redisUrl !== null) await verifyRedis(redisUrl);
    },
    remove,
  };
}

/** Rejects if the queue is missing. A worker declares the queue when it starts to consume. */
async function verifyQueue(url: string): Promise<void> {
  const connection = await amqplib.connect(url);
  try {
    const channel = await connection.createChannel();
    channel.on("error", () => undefined);
    await channel.checkQueue("posthorn.work.default.normal");
  } finally {
    await connection.close();
  }
}

async function verifyRedis(url: string): Promise<void> {
  const client = createClient({ url, socket: { reconnectStrategy: false } });
  await client.connect();
  try {
    if ((await client.dbSize()) === 0) throw new Error("the product wrote nothing to Redis");
  } finally {
    client.destroy();
  }
}

/**
 * Updates planner statistics and marks rows as visible, as autovacuum does within a minute of a large change. If it is
 * done immediately, a run does not depend on its start time.
 */
export async function vacuum(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("VACUUM (ANALYZE)");
  } finally {
    await client.end();
  }
}

/** Settings that `StatementTimes` requires. They have no cost before `start`. */
export const statementSettings: Readonly<Record<string, string>> = {
  "shared_preload_libraries": "pg_stat_statements",
  "pg_stat_statements.track_planning": "on",
  "pg_stat_statements.track_utility": "on",
};

/** One kind of statement, as counted by `pg_stat_statements`. */
interface StatementTime {
  /** The first words of the statement, on one line. */
  readonly text: string;
  readonly calls: number;
  readonly plans: number;
  readonly rows: number;
  readonly planMs: number;
  readonly execMs: number;
}

/** The work that PostgreSQL did in an interval. */
export interface DatabaseWork {
  readonly statements: readonly StatementTime[];
  readonly transactions: number;
  /** Flushes of the write-ahead log. */
  readonly flushes: number;
  readonly walBytes: number;
  readonly rowsInserted: number;
  readonly rowsUpdated: number;
  readonly rowsDeleted: number;
}

/** Times of statements by kind, for a server with `statementSettings`. */
export class StatementTimes {
  readonly #server: PostgresServer;

  private constructor(server: PostgresServer) {
    this.#server = server;
  }

  /** Does not count before `start`. */
  static async of(server: PostgresServer): Promise<StatementTimes> {
    const times = new StatementTimes(server);
    await server.query("CREATE EXTENSION pg_stat_statements");
    await times.#track("none");
    return times;
  }

  /** Starts counting statements, which has a small cost. */
  async start(): Promise<void> {
    await this.#track("all");
    await this.#server.query(
      "SELECT pg_stat_statements_reset(), pg_stat_reset_shared('wal'), pg_stat_reset()",
    );
  }

  async stop(): Promise<DatabaseWork> {
    await this.#track("none");
    const statements = await this.#server.query(
      `SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), ${textLength}) AS text, sum(calls)::int AS calls,
         sum(plans)::int AS plans, sum(rows)::int AS rows, sum(total_plan_time) AS "planMs", sum(total_exec_time) AS "execMs"
       FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_%' AND query NOT LIKE 'ALTER SYSTEM%'
       GROUP BY 1 ORDER BY sum(total_plan_time + total_exec_time) DESC`,
    );
    const [work = {}] = await this.#server.query(
      `SELECT xact_commit::int AS transactions, wal_sync::int AS flushes, wal_bytes::float AS "walBytes",
         t.* FROM pg_stat_database, pg_stat_wal, (SELECT sum(n_tup_ins)::int AS "rowsInserted",
           sum(n_tup_upd)::int AS "rowsUpdated", sum(n_tup_del)::int AS "rowsDeleted" FROM pg_stat_user_tables) AS t
       WHERE datname = current_database()`,
    );
    return { ...(work as unknown as Omit<DatabaseWork, "statements">), statements: statements as never };
  }

  async #track(what: "all" | "none"): Promise<void> {
    await this.#server.query(`ALTER SYSTEM SET pg_stat_statements.track = '${what}'`);
    await this.#server.query("SELECT pg_reload_conf()");
  }
}

const textLength = 60;
