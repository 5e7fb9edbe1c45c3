import { PostgresServer } from "../../test/services/postgres-server.fixture.ts";
import { RabbitmqServer } from "../../test/services/rabbitmq-server.fixture.ts";
import { RedisServer } from "../../test/services/redis-server.fixture.ts";
import type { Folders } from "../folders.ts";
import { treeCpuMs } from "../process/process-tree.ts";
import type { Home } from "../product/home.ts";
import { RowSkippedError } from "../row.ts";
import { StatementTimes } from "./statement-times.ts";

/**
 * Servers that a row starts for itself, so that their processor time is that of the product alone. Durable as they are
 * by default. They are gone with the harness, however it ends.
 */
export interface OwnServers {
  readonly home: Home;
  /** Of PostgreSQL. */
  readonly statements: StatementTimes;
  /** Processor time of each server since its start, its children included. */
  cpuMs(): Readonly<Record<string, number>>;
  remove(): Promise<void>;
}

interface OwnServer {
  readonly pid: number | undefined;
  remove(): Promise<void>;
}

export function ownPostgres(folders: Folders): Promise<OwnServers> {
  return ownServers(folders, false);
}

export function ownPostgresRabbitmqAndRedis(folders: Folders): Promise<OwnServers> {
  return ownServers(folders, true);
}

async function ownServers(folders: Folders, isDistributed: boolean): Promise<OwnServers> {
  const servers = new Map<string, OwnServer>();
  const remove = async (): Promise<void> => {
    await Promise.all([...servers.values()].map((server) => server.remove()));
  };
  const start = async <Server extends OwnServer>(
    name: string,
    starting: Promise<Server>,
  ): Promise<Server> => {
    try {
      const server = await starting;
      servers.set(name, server);
      return server;
    } catch (error) {
      await remove();
      throw new RowSkippedError(`${name} cannot be started: ${String(error).split("\n")[0]}`);
    }
  };
  const postgres = await start("PostgreSQL", PostgresServer.start(postgresSettings()));
  const companions = isDistributed
    ? {
        queueUrl: (await start("RabbitMQ", RabbitmqServer.start())).url,
        redisUrl: (await start("Redis", RedisServer.start())).url,
      }
    : {};
  const statements = await StatementTimes.of(postgres);
  return {
    home: {
      dataDir: folders.fresh("quiet"),
      servers: { databaseUrl: postgres.url, masterKey, ...companions },
    },
    statements,
    cpuMs: () => Object.fromEntries([...servers].map(([name, { pid = 0 }]) => [name, treeCpuMs(pid)])),
    remove,
  };
}

/** As PostgreSQL comes, but for the library that counts statements, which does nothing until it is asked to. */
function postgresSettings(): Readonly<Record<string, string>> {
  return {
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track_planning": "on",
    "pg_stat_statements.track_utility": "on",
  };
}

/** A benchmark has nothing to hide. */
const masterKey = Buffer.alloc(32, 3).toString("base64");
