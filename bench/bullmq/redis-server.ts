import { type ChildProcess, spawn } from "node:child_process";
import { createConnection, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { atEnd } from "../at-end.ts";
import { RowSkippedError } from "../row.ts";

export interface RedisServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** A Redis of our own that keeps an append-only file, as one that holds jobs must. Skips where there is no binary. */
export async function startRedis(dataDir: string): Promise<RedisServer> {
  const port = await freePort();
  const server = spawn(
    "redis-server",
    [
      "--port",
      String(port),
      "--bind",
      "127.0.0.1",
      "--dir",
      dataDir,
      "--save",
      "",
      "--appendonly",
      "yes",
      "--appendfsync",
      "everysec",
      "--maxmemory-policy",
      "noeviction",
    ],
    { stdio: ["ignore", "ignore", 2] },
  );
  const callOff = atEnd(() => server.kill());
  await Promise.race([started(server), answering(port)]);
  return {
    port,
    stop: async () => {
      callOff();
      if (server.exitCode !== null) return;
      const ended = new Promise((resolve) => {
        server.once("exit", resolve);
      });
      server.kill();
      await ended;
    },
  };
}

/** Settles only when the server cannot start. */
function started(server: ChildProcess): Promise<never> {
  return new Promise((_, reject) => {
    server.once("error", () => reject(new RowSkippedError("no redis-server on this machine")));
    server.once("exit", (code) => reject(new Error(`redis-server ended with ${code}`)));
  });
}

async function answering(port: number): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (await connects(port)) return;
    await sleep(attemptGapMs);
  }
  throw new Error("redis-server does not answer");
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}

const attemptsMax = 200;
const attemptGapMs = 25;
