// Servers that some suites need. A test file says so in its name (`store.pg.test.ts`, `cluster.pg.rabbit.test.ts`).
// Where a server cannot be reached its files are skipped by name; with CI=true that is a failure.

import { accessSync, constants } from "node:fs";
import { connect } from "node:net";
import { delimiter, join } from "node:path";

export interface Service {
  /** The part of the file name that asks for it. */
  readonly mark: string;
  readonly name: string;
  /** Where tests find it; set for them when it is not given. */
  readonly variable: string;
  readonly find: () => Promise<Found>;
}

export interface Found {
  readonly isReachable: boolean;
  /** Address or path, as the tests will see it. */
  readonly at: string;
}

const connectTimeoutMs = 1_000;

/** Every server that something asks for. */
export const services: readonly Service[] = [
  server({
    mark: "pg",
    name: "PostgreSQL",
    variable: "POSTHORN_TEST_DATABASE_URL",
    fallback: "postgres://postgres@127.0.0.1:5432/postgres",
  }),
  server({
    mark: "rabbit",
    name: "RabbitMQ",
    variable: "POSTHORN_TEST_QUEUE_URL",
    fallback: "amqp://guest:guest@127.0.0.1:5672",
  }),
  server({
    mark: "redis",
    name: "Redis",
    variable: "POSTHORN_TEST_REDIS_URL",
    fallback: "redis://127.0.0.1:6379",
  }),
  { mark: "browser", name: "Chromium", variable: "POSTHORN_TEST_CHROMIUM", find: findChromium },
];

/** The services that the name of a test file asks for. */
export function servicesOf(path: string): readonly Service[] {
  const marks = path.split("/").at(-1)?.split(".").slice(1, -2) ?? [];
  return services.filter(({ mark }) => marks.includes(mark));
}

interface ServerOptions {
  readonly mark: string;
  readonly name: string;
  readonly variable: string;
  readonly fallback: string;
}

function server({ mark, name, variable, fallback }: ServerOptions): Service {
  return {
    mark,
    name,
    variable,
    async find() {
      const at = process.env[variable] ?? fallback;
      return { at, isReachable: await answers(new URL(at)) };
    },
  };
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

async function findChromium(): Promise<Found> {
  const given = process.env["POSTHORN_TEST_CHROMIUM"];
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const candidates =
    given === undefined ? folders.flatMap((folder) => names.map((name) => join(folder, name))) : [given];
  const at = candidates.find(isExecutable);
  return { at: at ?? given ?? "the PATH", isReachable: at !== undefined };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
