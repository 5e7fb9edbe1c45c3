import type { Clock } from "../../../ports/clock.ts";
import type { RedisClient } from "./client.ts";
import { awayReason, clusterError, SharedStateSetupError } from "./errors.ts";
import type { Keys } from "./keys.ts";

/** Redis 6.2 added expiry as Unix ms (PXAT). Valkey reports itself as Redis 7.2.4 in this field. */
const versionMin = [6, 2] as const;

/** Throws SharedStateSetupError for a server that is too old, or a cluster that one connection cannot serve. */
export async function checkServer(client: RedisClient, at: string): Promise<void> {
  judgeVersion(await told(client.info("server")), at);
  if (!/^cluster_enabled:1\s*$/m.test(await told(client.info("cluster")))) return;
  const [, size = "1"] = /^cluster_size:(\d+)\s*$/m.exec(await told(client.clusterInfo())) ?? [];
  // For a user without this permission the rehearsal shows it: its keys are in different slots.
  if (size !== "1") throw clusterError(at);
}

/** An unreadable version is accepted: some services hide it. */
export function judgeVersion(info: string, at: string): void {
  const [, version, major, minor] = /^redis_version:((\d+)\.(\d+)\S*)/m.exec(info) ?? [];
  if (version === undefined) return;
  const [majorMin, minorMin] = versionMin;
  if (Number(major) > majorMin || (Number(major) === majorMin && Number(minor) >= minorMin)) return;
  throw new SharedStateSetupError(
    "too_old",
    `the server at ${at} is Redis ${version}, and Posthorn needs Redis 6.2 or Valkey 7.2 or later: upgrade it`,
  );
}

/** Empty when the user lacks the permission; the answer is useful but not required. */
async function told(answer: Promise<string>): Promise<string> {
  try {
    return await answer;
  } catch (error) {
    if (awayReason(error) === "the user lacks permissions") return "";
    throw error;
  }
}

/** With two shards, all of these are in one shard in one of 65,000 cases. Then the first calls fail. */
const placesTried = 16;

/** Executes every kind of call once, on keys that expire after a second, to detect missing permissions. */
export async function rehearse(client: RedisClient, keys: Keys, clock: Clock): Promise<void> {
  const [limit, endpoint, publish] = [
    keys.rehearsal("limit"),
    keys.rehearsal("endpoint"),
    keys.rehearsal("publish"),
  ];
  const places = Array.from({ length: placesTried }, (_, index) => keys.rehearsal(`place ${index}`));
  await Promise.all([
    ...places.map((key) => client.get(key)),
    client.draw(limit, [1_024, 0, 1]),
    client.giveBack(limit, [1_024, 0, 1]),
    client.note(endpoint, [1_000, 0, "", 1, 1, 1]),
    client.hGetAll(endpoint),
    client.set(publish, "", {
      condition: "NX",
      expiration: { type: "PXAT", value: Math.ceil(clock.now()) + 1_000 },
    }),
    client.get(publish),
    client.publish(keys.config, ""),
    client.ping(),
  ]);
}
