import type { ClaimOutcome, DeduplicationStore } from "../deduplication.ts";
import type { RedisClient } from "./database-objects.ts";

export interface RedisDeduplicationOptions {
  /** Key prefix; defaults to `posthorn:deduplication:`. */
  readonly prefix?: string;
}

/**
 * Stores each key in a hash that Redis expires automatically. Every method is one script, so it is atomic; no script
 * accesses more than one key, so a cluster works as well. Keys that Redis loses in a crash or evicts are also lost
 * here: use an append-only file and the `noeviction` policy if that matters.
 */
export function createRedisDeduplicationStore(
  client: RedisClient,
  options: RedisDeduplicationOptions = {},
): DeduplicationStore {
  const prefix = options.prefix ?? "posthorn:deduplication:";
  const run = (script: string, [key, ...values]: readonly [string, ...(string | number)[]]) =>
    client.eval(script, { keys: [prefix + key], arguments: values.map(String) });

  return {
    claim: async ({ key, fingerprint, token, now, expiresAt }) =>
      claimOutcome(await run(claimScript, [key, fingerprint, token, now, expiresAt])),
    finish: async ({ key, fingerprint, token, now, result, expiresAt }) =>
      Number(await run(finishScript, [key, fingerprint, token, now, expiresAt, result])) === 1,
    release: async (key, token) => {
      await run(releaseScript, [key, token]);
    },
    purge: async () => 0,
  };
}

function claimOutcome(reply: unknown): ClaimOutcome {
  const [kind, value] = (reply as readonly unknown[]).map(String);
  switch (kind) {
    case "claimed":
    case "mismatch":
      return { kind };
    case "completed":
      return { kind, result: value ?? "" };
    case "running":
      return { kind, expiresAt: Number(value) };
    default:
      throw new TypeError("the Redis client returned a result that is not the script's");
  }
}

// Redis gets durations instead of absolute times, because its clock may differ from ours.
const claimScript = `
local known = redis.call('HMGET', KEYS[1], 'fingerprint', 'result', 'expires_at')
if known[1] and tonumber(known[3]) > tonumber(ARGV[3]) then
  if known[1] ~= ARGV[1] then return {'mismatch'} end
  if known[2] then return {'completed', known[2]} end
  return {'running', known[3]}
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'token', ARGV[2], 'expires_at', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[4] - ARGV[3])
return {'claimed'}`;

const finishScript = `
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HGET', KEYS[1], 'token') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'result', ARGV[5], 'expires_at', ARGV[4])
redis.call('HDEL', KEYS[1], 'token')
redis.call('PEXPIRE', KEYS[1], ARGV[4] - ARGV[3])
return 1`;

const releaseScript = `
if redis.call('HGET', KEYS[1], 'token') == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0`;
