// Servers that some test files need, as their names say (`failures.pg.test.ts`, `rabbitmq-alone.pg.rabbit.test.ts`). If PostgreSQL is
// installed, the run starts one: it keeps its data in the folder of the tests, does not wait for the disk, and is removed at
// the end. RabbitMQ and Redis are started only if none can be reached. If a server is neither installed nor running, its files
// are skipped; with CI=true that is a failure.

import { accessSync, constants } from "node:fs";
import { connect } from "node:net";
import { delimiter, join } from "node:path";
import { PostgresServer } from "../test/services/postgres-server.fixture.ts";
import { RabbitmqServer } from "../test/services/rabbitmq-server.fixture.ts";
import { RedisServer } from "../test/services/redis-server.fixture.ts";

export interface Service {
  /** The part of a test file's name that declares that the file needs this service. */
  readonly mark: string;
  readonly name: string;
  /** The environment variable with the service's address or path. It is set for the tests. */
  readonly variable: string;
  /** How to install or start the service. */
  readonly remedy: string;
  /** Finds a running server, or starts one if necessary. */
  readonly find: () => Promise<Found>;
}

/** A server that was started for this run of the tests. */
export interface Throwaway {
  readonly url: string;
  remove(): Promise<void>;
}

export interface Found {
  readonly isReachable: boolean;
  /** Address or path of the service. */
  readonly at: string;
  /** Why the service cannot be reached. */
  readonly problem?: string;
}

const connectTimeoutMs = 1_000;

/** All services. */
export const services: readonly Service[] = [
  server({
    mark: "pg",
    name: "PostgreSQL",
    variable: "POSTHORN_TEST_DATABASE_URL",
    fallback: "postgres://postgres@127.0.0.1:5432/postgres",
    remedy: "install PostgreSQL 15 or later, such as apt-get install postgresql",
    // No test data outlives this server, so it does not need to be durable. Crash tests start separate servers.
    start: () => PostgresServer.start({ fsync: "off", full_page_writes: "off" }),
    isStartedFirst: true,
  }),
  server({
    mark: "rabbit",
    name: "RabbitMQ",
    variable: "POSTHORN_TEST_QUEUE_URL",
    fallback: "amqp://guest:guest@127.0.0.1:5672",
    remedy: "install RabbitMQ, such as apt-get install rabbitmq-server",
    start: () => RabbitmqServer.start(),
  }),
  server({
    mark: "redis",
    name: "Redis",
    variable: "POSTHORN_TEST_REDIS_URL",
    fallback: "redis://127.0.0.1:6379",
    remedy: "install Redis or Valkey, such as apt-get install redis-server",
    start: () => RedisServer.start(),
  }),
  program({
    mark: "browser",
    name: "Chromium",
    variable: "POSTHORN_TEST_CHROMIUM",
    remedy: "install Chromium, such as apt-get install chromium",
    programs: ["chromium", "chromium-browser", "google-chrome"],
  }),
  program({
    mark: "promtool",
    name: "promtool",
    variable: "POSTHORN_TEST_PROMTOOL",
    remedy: "install Prometheus, such as apt-get install prometheus",
    programs: ["promtool"],
  }),
];

/** The services that a test file needs. */
export function servicesOf(path: string): readonly Service[] {
  const marks = path.split("/").at(-1)?.split(".").slice(1, -2) ?? [];
  return services.filter(({ mark }) => marks.includes(mark));
}

interface ServerOptions extends Omit<Service, "find"> {
  readonly fallback: string;
  readonly start: () => Promise<Throwaway>;
  /** Whether to start a new server even if one is already running. */
  readonly isStartedFirst?: boolean;
}

/** Services that are removed at the end of the run. */
const throwaways: Throwaway[] = [];

export async function removeThrowaways(): Promise<void> {
  await Promise.all(throwaways.splice(0).map((throwaway) => throwaway.remove()));
}

export function server({ fallback, start, isStartedFirst = false, ...service }: ServerOptions): Service {
  const findRunning = async (): Promise<Found> => {
    const at = process.env[service.variable] ?? fallback;
    if (await answers(new URL(at))) return { at, isReachable: true };
    return { at, isReachable: false, problem: `nothing answers at ${withoutUser(at)}` };
  };
  return {
    ...service,
    async find() {
      const at = process.env[service.variable] ?? fallback;
      // If an address is configured, it is always used and no server is started.
      const isNamed = process.env[service.variable] !== undefined;
      if (isNamed || !isStartedFirst) {
        const running = await findRunning();
        if (isNamed || running.isReachable) return running;
      }
      try {
        const throwaway = await start();
        throwaways.push(throwaway);
        if (!isStartedFirst)
          process.stdout.write(`${service.name} is not running; one was started for this run\n`);
        return { at: throwaway.url, isReachable: true };
      } catch (error) {
        const running = await findRunning();
        return running.isReachable ? running : { at, isReachable: false, problem: problemOf(error) };
      }
    },
  };
}

function withoutUser(url: string): string {
  return url.replace(/\/\/[^@/]*@/, "//");
}

/** A missing program needs no details. If the server did not start, the first lines of its output help. */
function problemOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (/ENOENT|on this machine/.test(text)) return "it is neither running nor installed";
  return `it is installed, but did not start: ${text.split("\n").slice(0, 3).join(" ")}`;
}

/** Whether a server accepts connections at this address. The tests themselves verify that they can log in. */
async function answers(url: URL): Promise<boolean> {
  const defaultPorts: Readonly<Record<string, number>> = { "postgres:": 5432, "amqp:": 5672, "redis:": 6379 };
  const port = url.port === "" ? (defaultPorts[url.protocol] ?? 0) : Number(url.port);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: url.hostname, port, timeout: connectTimeoutMs });
  socket.once("connect", () => resolve(true));
  socket.once("timeout", () => resolve(false));
  socket.once("error", () => resolve(false));
  const isReachable = await promise;
  socket.destroy();
  return isReachable;
}

interface ProgramOptions extends Omit<Service, "find"> {
  /** Possible names of the program; any one is sufficient. */
  readonly programs: readonly string[];
}

/** A program that tests start themselves. */
function program({ programs, ...service }: ProgramOptions): Service {
  const find = async (): Promise<Found> => {
    const given = process.env[service.variable];
    const folders = (process.env["PATH"] ?? "").split(delimiter);
    const candidates =
      given === undefined ? folders.flatMap((folder) => programs.map((name) => join(folder, name))) : [given];
    const at = candidates.find(isExecutable);
    if (at !== undefined) return { at, isReachable: true };
    return { at: given ?? "the PATH", isReachable: false, problem: "there is none on the PATH" };
  };
  return { ...service, find };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
