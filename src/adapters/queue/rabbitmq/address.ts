import type { Options } from "amqplib";
import { WorkQueueSetupError } from "./errors.ts";

/** The broker's address and our credentials. */
export interface Address {
  /** `host:port/vhost`, for messages: without user and password. */
  readonly at: string;
  readonly connect: Options.Connect;
  readonly tlsFiles: TlsFiles;
}

/** Paths of PEM files, with the names of RabbitMQ's URI query parameters. */
export interface TlsFiles {
  readonly cacertfile: string | null;
  readonly certfile: string | null;
  readonly keyfile: string | null;
}

/**
 * Seconds, unless the address sets another value. Short enough to notice a dead broker within half a minute, long
 * enough for a busy one. The broker's own default is a minute.
 */
const heartbeatSDefault = 10;
const heartbeatSMax = 300;
/** RabbitMQ 4.1 and later require at least 8 KiB. This is the default of all versions. */
const frameBytesMax = 131_072;

const defaultPorts = { amqp: 5672, amqps: 5671 } as const;
const example = "amqp://user:password@host:5672/vhost";
const parameters: ReadonlySet<string> = new Set(["heartbeat", "cacertfile", "certfile", "keyfile"]);

/** Checks the form of the URL. Error messages never contain the URL, because it holds the password. */
export function parseAddress(url: string): Address {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !/^amqps?:$/.test(parsed.protocol) || parsed.hostname === "") {
    throw invalid(
      `the address of RabbitMQ is not a URL like ${example}, with special characters of the password percent-encoded`,
    );
  }
  // User and password end at the first / ? or #. What follows would be shown as host and virtual host.
  if (parsed.hash !== "" || /@/.test(parsed.pathname + parsed.search)) {
    throw invalid(
      "the address of RabbitMQ has a misplaced @ or #: write special characters of user, password and " +
        "virtual host percent-encoded, such as %40 for @, %2F for /, %3F for ? and %23 for #",
    );
  }
  const unknown = [...parsed.searchParams.keys()].find((name) => !parameters.has(name));
  if (unknown !== undefined) {
    throw invalid(
      `the address of RabbitMQ has an unknown parameter ${JSON.stringify(unknown)}: use ${[...parameters].join(", ")}`,
    );
  }
  const protocol = parsed.protocol === "amqps:" ? "amqps" : "amqp";
  const hostname = parsed.hostname.replace(/^\[(.+)\]$/, "$1");
  const port = parsed.port === "" ? defaultPorts[protocol] : Number(parsed.port);
  const path = parsed.pathname.replace(/^\//, "");
  const vhost = decoded(path === "" ? "/" : path);
  const hasUser = parsed.username !== "" || parsed.password !== "";
  return {
    at: `${parsed.hostname}:${port}/${vhost === "/" ? "" : vhost}`,
    connect: {
      protocol,
      hostname,
      port,
      username: hasUser ? decoded(parsed.username) : "guest",
      password: hasUser ? decoded(parsed.password) : "guest",
      // amqplib decodes it once more.
      vhost: encodeURIComponent(vhost),
      heartbeat: heartbeatOf(parsed),
      frameMax: frameBytesMax,
    },
    tlsFiles: {
      cacertfile: parsed.searchParams.get("cacertfile"),
      certfile: parsed.searchParams.get("certfile"),
      keyfile: parsed.searchParams.get("keyfile"),
    },
  };
}

/** Without a heartbeat, a dead connection would go unnoticed for a quarter of an hour. */
function heartbeatOf({ searchParams }: URL): number {
  const seconds = Number(searchParams.get("heartbeat") ?? heartbeatSDefault);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= heartbeatSMax) return seconds;
  throw invalid(
    `heartbeat in the address of RabbitMQ must be a whole number of seconds from 1 to ${heartbeatSMax}`,
  );
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid(
      "user, password or virtual host in the address of RabbitMQ have a % that is not written as %25",
    );
  }
}

function invalid(text: string): WorkQueueSetupError {
  return new WorkQueueSetupError("invalid_url", text);
}
