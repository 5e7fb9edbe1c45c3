import { UsageError } from "./failures.ts";
import { ownFile, readOwnFile, writeOwnFile } from "./own-files.ts";

type ProfileEnvironment = Readonly<Record<string, string | undefined>>;

/** A saved server and key. */
export interface ServerProfile {
  readonly url: string;
  readonly key: string;
}

export const profileNameDefault = "default";

export function profilesFile(env: ProfileEnvironment): string | null {
  return ownFile("profiles.json", env);
}

export function readProfiles(env: ProfileEnvironment): ReadonlyMap<string, ServerProfile> {
  const entries = Object.entries(readOwnFile(profilesFile(env)));
  return new Map(entries.filter((entry): entry is [string, ServerProfile] => isProfile(entry[1])));
}

/** The named profile, or the default profile if it exists. */
export function profileFor(name: string | undefined, env: ProfileEnvironment): ServerProfile | null {
  const profiles = readProfiles(env);
  const found = profiles.get(name ?? profileNameDefault);
  if (found !== undefined || name === undefined) return found ?? null;
  const known = [...profiles.keys()];
  throw new UsageError(`profile "${name}" does not exist`, [
    known.length === 0
      ? `Create it with: posthorn login ${name} --url https://…`
      : `Available profiles: ${known.join(", ")}`,
  ]);
}

export function saveProfiles(profiles: ReadonlyMap<string, ServerProfile>, env: ProfileEnvironment): string {
  const path = profilesFile(env);
  if (path === null) throw new UsageError("no home folder to save the profile in: set XDG_CONFIG_HOME");
  writeOwnFile(path, Object.fromEntries(profiles));
  return path;
}

function isProfile(value: unknown): value is ServerProfile {
  const { url, key } = (value ?? {}) as Partial<ServerProfile>;
  return typeof url === "string" && typeof key === "string";
}
