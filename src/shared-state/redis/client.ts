import type { LookupFunction } from "node:net";
import type * as redis from "redis";
import type { CommandParser } from "redis";
import type { Address } from "./errors.ts";

/**
 * Each script works on one key, which is one entity, so scripts also work in a cluster. They use the server's time, in
 * 1/1024 ms where tokens are counted. These are whole numbers below 2^53 whose sums and differences are exact, as in
 * domain/rate-limit.ts. Numbers are written with 17 digits, because Lua would keep only 14 by default.
 *
 * The scripts do not use modules, flags or commands that Redis 6.2 or Valkey 7.2 lacks.
 */
const bucketTime = `
local time = redis.call('TIME')
local now = time[1] * 1024000 + math.floor(time[2] * 1024 / 1000)
local interval, tolerance, tokens = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local known = tonumber(redis.call('GET', KEYS[1]) or nil)
local function save(fullAt)
  local expiresAt = math.min(math.ceil(fullAt / 1024), 9007199254740991)
  redis.call('SET', KEYS[1], string.format('%.17g', fullAt), 'PXAT', string.format('%.0f', expiresAt))
end
`;

/**
 * A bucket is stored as the time at which it will be full again; a missing key means full. Takes as many of the
 * requested tokens as are available. As in the domain, a time too far in the future (because of a different limit or a
 * clock set back) is corrected once and stored.
 */
const draw = `${bucketTime}
local fullAt = math.min(known or now, now + tolerance + interval)
local from = math.max(fullAt, now)
local granted = 0
if from <= now + tolerance then
  granted = math.min(tokens, math.floor((now + tolerance - from) / interval) + 1)
end
if granted > 0 then fullAt = from + granted * interval end
if fullAt ~= known and fullAt > now then save(fullAt) end
local wait = 0
if granted < tokens then wait = math.max(0, math.ceil((fullAt - tolerance - now) / 1024)) end
return {granted, wait}
`;

/** Deletes the key of a full bucket, so a bucket never holds more tokens than its burst size. */
const giveBack = `${bucketTime}
if known then
  local fullAt = known - tokens * interval
  if fullAt > now then save(fullAt) else redis.call('DEL', KEYS[1]) end
end
return 0
`;

/**
 * An endpoint is a hash: the length of its window, the time at which its rate is full, and the successes and failures
 * of each slice. With 60 slices these are 122 fields; beyond that, slices older than a window are removed.
 *
 * Values: the length of the window; 1 if the stored data was cleared; the time at which the rate is full, or empty;
 * then three values per slice. The later of the stored and the new time is kept, and counts are added, so updates may
 * arrive in any order.
 */
const note = `
local key, window, cleared, fullAt = KEYS[1], ARGV[1], ARGV[2] == '1', ARGV[3]
local known = redis.call('HMGET', key, 'window', 'fullAt')
if known[2] and (fullAt == '' or tonumber(known[2]) > tonumber(fullAt)) then fullAt = known[2] end
if cleared or known[1] ~= window then redis.call('DEL', key) end
redis.call('HSET', key, 'window', window)
if fullAt ~= '' then redis.call('HSET', key, 'fullAt', fullAt) end
local head = -math.huge
for at = 4, #ARGV, 3 do
  head = math.max(head, tonumber(ARGV[at]))
  if ARGV[at + 1] ~= '0' then redis.call('HINCRBY', key, 's' .. ARGV[at], ARGV[at + 1]) end
  if ARGV[at + 2] ~= '0' then redis.call('HINCRBY', key, 'f' .. ARGV[at], ARGV[at + 2]) end
end
local fields = redis.call('HLEN', key)
if fields == 1 then
  redis.call('DEL', key)
  return 0
end
if fields > 122 and #ARGV > 3 then
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local slice = tonumber(string.match(field, '^[sf](%d+)$') or nil)
    if slice and math.abs(slice - head) >= 60 then redis.call('HDEL', key, field) end
  end
end
local time = redis.call('TIME')
local expiresAt = time[1] * 1000 + math.ceil(time[2] / 1000) + tonumber(window)
if fullAt ~= '' then expiresAt = math.max(expiresAt, tonumber(fullAt)) end
expiresAt = math.min(math.ceil(expiresAt), 9007199254740991)
redis.call('PEXPIREAT', key, string.format('%.0f', expiresAt))
return 0
`;

/** The scripts that the client offers in addition to Redis commands. */
const scripts = {
  draw: script(draw, (reply): readonly number[] => reply as readonly number[]),
  giveBack: script(giveBack, (): void => undefined),
  note: script(note, (): void => undefined),
};

function script<Answer>(text: string, transformReply: (reply: unknown) => Answer) {
  return {
    SCRIPT: text,
    NUMBER_OF_KEYS: 1,
    parseCommand(parser: CommandParser, key: string, values: readonly (string | number)[]): void {
      parser.pushKey(key);
      parser.push(...values.map(String));
    },
    transformReply,
  };
}

type Driver = typeof redis;
// oxlint-disable-next-line no-generated-empty-object-type -- no modules, no functions: what the driver's type asks for
type None = Record<never, never>;
type Defined<Script> = Script & { readonly SHA1: string };
type Scripts = { readonly [Name in keyof typeof scripts]: Defined<(typeof scripts)[Name]> };
/** Written out, because the inferred type can be named only if the driver is installed in a specific location. */
export type RedisClient = redis.RedisClientType<None, None, Scripts, 2>;

/** Loads redis when a shared state is opened. Installations without Redis never need it. */
export async function loadDriver(): Promise<Driver> {
  return import("redis");
}

/**
 * A client for one connection that never reconnects; connection.ts creates another client. The client's own
 * reconnecting has no deadline for a server that accepts connections and does not answer.
 *
 * Commands have no timeouts either: each would cost a timer, and a batch has one (`Calls` in limits.ts).
 */
export function newClient(
  driver: Driver,
  address: Address,
  connectTimeoutMs: number,
  lookup?: LookupFunction,
): RedisClient {
  const { draw, giveBack, note } = scripts;
  const client = driver.createClient<None, None, Scripts, 2, None>({
    url: address.url,
    // RESP2: proxies support it, and we use no feature of RESP3.
    RESP: 2,
    disableOfflineQueue: true,
    maintNotifications: "disabled",
    clientInfoTag: "posthorn",
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: connectTimeoutMs,
      reconnectStrategy: false,
      keepAliveInitialDelay: 10_000,
      ...(lookup !== undefined && { lookup }),
    },
    scripts: {
      draw: driver.defineScript(draw),
      giveBack: driver.defineScript(giveBack),
      note: driver.defineScript(note),
    },
  });
  // Without a listener, the error event would end the process.
  client.on("error", () => undefined);
  return client;
}

/** Closes the connection and rejects the calls in flight. */
export function discard(client: RedisClient): void {
  client.destroy();
}
