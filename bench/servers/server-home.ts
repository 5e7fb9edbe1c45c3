import { randomBytes } from "node:crypto";
import type { Folders } from "../folders.ts";
import type { Home } from "../product/home.ts";
import { createBenchDatabase, removal } from "./bench-database.ts";
import { requireServer } from "./require-server.ts";
import { verifyUsed } from "./verify-used.ts";

/** A product's place on servers, which nobody else uses and nothing is left of. */
export interface ServerHome {
  readonly home: Home;
  /** To be called after a large change and before what is measured. */
  tidy(): Promise<void>;
  /** After a run: throws when the product did without one of the servers. */
  verifyUsed(): Promise<void>;
  remove(): Promise<void>;
}

/** PostgreSQL alone: it is the store and the queue. */
export async function onPostgres(folders: Folders): Promise<ServerHome> {
  const database = await createBenchDatabase();
  const dataDir = folders.fresh("postgres");
  return {
    home: { dataDir, servers: { databaseUrl: database.url, masterKey } },
    tidy: () => database.tidy(),
    // What was settled was read from there.
    verifyUsed: async () => undefined,
    remove: async () => {
      folders.discard(dataDir);
      await database.drop();
    },
  };
}

/** PostgreSQL, with RabbitMQ as the queue and Redis for what is shared. */
export async function onAllServers(folders: Folders): Promise<ServerHome> {
  const name = `posthorn-bench-${randomBytes(6).toString("hex")}`;
  const queue = { queueUrl: await requireServer("rabbit"), queuePrefix: name };
  const redis = { redisUrl: await requireServer("redis"), redisPrefix: name };
  const postgres = await onPostgres(folders);
  const { dataDir, servers } = postgres.home;
  if (servers === undefined) throw new Error("PostgreSQL is a server");
  const removeRest = removal({ ...queue, ...redis });
  return {
    home: { dataDir, servers: { ...servers, ...queue, ...redis } },
    tidy: () => postgres.tidy(),
    verifyUsed: () => verifyUsed({ ...queue, ...redis }),
    remove: async () => {
      await postgres.remove();
      await removeRest();
    },
  };
}

/** A benchmark has nothing to hide. */
const masterKey = Buffer.alloc(32, 3).toString("base64");
