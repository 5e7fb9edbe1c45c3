// Removes what a run left on servers. Also a process of its own, for a harness that is about to end and cannot wait:
// `node bench/servers/remove.ts` with the settings as JSON on standard input.

import { text } from "node:stream/consumers";
import amqplib from "amqplib";
import pg from "pg";
import { createClient } from "redis";
import { priorities } from "../../src/domain/delivery.ts";
import type { ServerSettings } from "../product/home.ts";

/** All that was made under these settings. What is not there is no error. */
export async function removeFromServers(settings: Partial<ServerSettings>): Promise<void> {
  const { databaseUrl, queueUrl, queuePrefix, redisUrl, redisPrefix } = settings;
  if (databaseUrl !== undefined) await dropDatabase(databaseUrl);
  if (queueUrl !== undefined && queuePrefix !== undefined)
    await deleteQueues({ url: queueUrl, prefix: queuePrefix });
  if (redisUrl !== undefined && redisPrefix !== undefined)
    await deleteKeys({ url: redisUrl, prefix: redisPrefix });
}

async function dropDatabase(url: string): Promise<void> {
  const server = new URL(url);
  const name = server.pathname.slice(1);
  server.pathname = "/postgres";
  const client = new pg.Client({ connectionString: server.href });
  await client.connect();
  try {
    await client.query(`DROP DATABASE IF EXISTS ${client.escapeIdentifier(name)} WITH (FORCE)`);
  } finally {
    await client.end();
  }
}

interface Prefixed {
  readonly url: string;
  readonly prefix: string;
}

/** The names are those of the adapter's topology.ts; queues of workers end with their connections. */
async function deleteQueues({ url, prefix }: Prefixed): Promise<void> {
  const connection = await amqplib.connect(url);
  try {
    const channel = await connection.createChannel();
    for (const priority of priorities) await channel.deleteQueue(`${prefix}.work.default.${priority}`);
    await channel.deleteQueue(`${prefix}.parked`);
    await channel.deleteExchange(`${prefix}.tell`);
  } finally {
    await connection.close();
  }
}

async function deleteKeys({ url, prefix }: Prefixed): Promise<void> {
  const client = createClient({ url, socket: { reconnectStrategy: false } });
  await client.connect();
  try {
    for await (const keys of client.scanIterator({ MATCH: `${prefix}:*`, COUNT: 1_000 }))
      if (keys.length > 0) await client.unlink(keys);
  } finally {
    client.destroy();
  }
}

if (import.meta.main)
  await removeFromServers(JSON.parse(await text(process.stdin)) as Partial<ServerSettings>);
