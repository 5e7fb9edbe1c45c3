import { UsageError } from "./failures.ts";
import { ownFile, readOwnFile, writeOwnFile } from "./own-files.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A server and a key by a name. */
export interface ServerProfile {
  readonly url: string;
  readonly key: string;
}

export const profileNameDefault = "default";

export function profilesFile(env: Environment): string | null {
  return ownFile("profiles.json", env);
}

export function readProfiles(env: Environment): ReadonlyMap<string, ServerProfile> {
  const entries = Object.entries(readOwnFile(profilesFile(env)));
  return new Map(entries.filter((entry): entry is [string, ServerProfile] => isProfile(entry[1])));
}

/** The one that somebody named; without a name the default one, where somebody logged in. */
export function profileFor(name: string | undefined, env: Environment): ServerProfile | null {
  const profiles = readProfiles(env);
  const found = profiles.get(name ?? profileNameDefault);
  if (found !== undefined || name === undefined) return found ?? null;
  const known = [...profiles.keys()];
  throw new UsageError(`there is no profile "${name}"`, [
    known.length === 0
      ? `Make it with: posthorn login ${name} --url https://…`
      : `There are: ${known.join(", ")}`,
  ]);
}

export function saveProfiles(profiles: ReadonlyMap<string, ServerProfile>, env: Environment): string {
  const path = profilesFile(env);
  if (path === null)
    throw new UsageError("there is no home folder to keep a profile in: set XDG_CONFIG_HOME");
  writeOwnFile(path, Object.fromEntries(profiles));
  return path;
}

function isProfile(value: unknown): value is ServerProfile {
  const { url, key } = (value ?? {}) as Partial<ServerProfile>;
  return typeof url === "string" && typeof key === "string";
}
