// Servers that some suites need. A test file says so in its name (`store.pg.test.ts`, `cluster.pg.rabbit.test.ts`).
// PostgreSQL is started for the run where its program is installed: it keeps its data where the tests keep theirs, waits for
// no disk, and is gone afterwards. RabbitMQ and Redis are started where none can be reached. Where a server is neither
// installed nor running, the files are skipped; with CI=true that is a failure.

import { accessSync, constants } from "node:fs";
import { connect } from "node:net";
import { delimiter, join } from "node:path";
import { PostgresServer } from "../test/services/postgres-server.fixture.ts";
import { RabbitmqServer } from "../test/services/rabbitmq-server.fixture.ts";
import { RedisServer } from "../test/services/redis-server.fixture.ts";

export interface Service {
  /** The part of the file name that asks for it. */
  readonly mark: string;
  readonly name: string;
  /** Where tests find it; set for them when it is not given. */
  readonly variable: string;
  /** What to do to have it. */
  readonly remedy: string;
  /** Starts one where it may. */
  readonly find: () => Promise<Found>;
  /** Starts none. */
  readonly findRunning: () => Promise<Found>;
}

/** A server that was started for this run of the tests alone, and is gone after it. */
export interface Throwaway {
  readonly url: string;
  remove(): Promise<void>;
}

export interface Found {
  readonly isReachable: boolean;
  /** Address or path, as the tests will see it. */
  readonly at: string;
  /** Why it cannot be reached. */
  readonly problem?: string;
}

const connectTimeoutMs = 1_000;

/** Every server that something asks for. */
export const services: readonly Service[] = [
  server({
    mark: "pg",
    name: "PostgreSQL",
    variable: "POSTHORN_TEST_DATABASE_URL",
    fallback: "postgres://postgres@127.0.0.1:5432/postgres",
    remedy: "install PostgreSQL 15 or later, such as apt-get install postgresql",
    // Nothing here outlives its server, so that it need not be durable. What must be has servers of its own.
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

/** The services that the name of a test file asks for. */
export function servicesOf(path: string): readonly Service[] {
  const marks = path.split("/").at(-1)?.split(".").slice(1, -2) ?? [];
  return services.filter(({ mark }) => marks.includes(mark));
}

interface ServerOptions extends Omit<Service, "find" | "findRunning"> {
  readonly fallback: string;
  readonly start: () => Promise<Throwaway>;
  /** Whether one of the run's own is better than one that is there anyway. */
  readonly isStartedFirst?: boolean;
}

/** Started for this run, to be removed at its end. */
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
    findRunning,
    async find() {
      const at = process.env[service.variable] ?? fallback;
      // Who names a server means that one.
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

/** That a program is missing needs no details; why it did not start is worth its first lines. */
function problemOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (/ENOENT|on this machine/.test(text)) return "it is neither running nor installed";
  return `it is installed, but did not start: ${text.split("\n").slice(0, 3).join(" ")}`;
}

/** Whether something accepts connections there. Who it is and whether it lets us in, the tests will tell. */
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

interface ProgramOptions extends Omit<Service, "find" | "findRunning"> {
  /** Any of these names will do. */
  readonly programs: readonly string[];
}

/** What tests start themselves. */
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
  return { ...service, find, findRunning: find };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
