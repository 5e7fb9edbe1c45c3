import { randomBytes } from "node:crypto";
import { createClient } from "redis";
import { openRedisSharedState, type RedisSharedStateOptions } from "../../../src/shared-state/redis/open.ts";
import { systemClock } from "../../../src/system/clock.ts";
import { createSystemRandom } from "../../../src/system/random.ts";
import type { LogFields, Logger } from "../../../src/ports/telemetry.ts";

/** The Redis server that tests on this machine share. */
export const sharedRedisUrl = process.env["POSTHORN_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379";

export interface LogLine {
  readonly level: keyof Logger;
  readonly fields: LogFields;
  readonly message: string;
}

/** Creates a unique prefix; `removeKeys` removes the keys under it. */
export function newPrefix(): string {
  return `posthorn-test-${randomBytes(9).toString("base64url")}`;
}

/** A shared state opened as in production. Its log lines are recorded. */
export async function openRedis(options: Partial<RedisSharedStateOptions> & { readonly lines?: LogLine[] }) {
  const { lines = [], ...rest } = options;
  const line =
    (level: keyof Logger) =>
    (fields: LogFields, message: string): void =>
      void lines.push({ level, fields, message });
  return openRedisSharedState({
    url: sharedRedisUrl,
    prefix: newPrefix(),
    clock: systemClock,
    random: createSystemRandom(),
    telemetry: {
      log: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") },
    },
    ...rest,
  });
}

/** An administrator's connection, used to inspect keys. */
export type Operator = Awaited<ReturnType<typeof connectOperator>>;

export async function connectOperator(url: string = sharedRedisUrl) {
  const client = createClient({ url, socket: { reconnectStrategy: false } });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

export async function keysUnder(operator: Operator, prefix: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const keys of operator.scanIterator({ MATCH: `${prefix}:*`, COUNT: 1_000 })) found.push(...keys);
  return found;
}

export async function removeKeys(operator: Operator, prefix: string): Promise<void> {
  const keys = await keysUnder(operator, prefix);
  if (keys.length > 0) await operator.del([...keys]);
}

/** The server's time as Unix milliseconds, with microsecond precision. */
export async function serverTime(operator: Operator): Promise<number> {
  const [seconds, microseconds] = await operator.sendCommand<[string, string]>(["TIME"]);
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}
