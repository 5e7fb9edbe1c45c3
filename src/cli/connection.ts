import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isLoopbackHost } from "../domain/http/network.ts";
import { codeOf } from "../domain/thrown.ts";
import { UsageError } from "./failures.ts";
import { ownFile, readOwnFile, writeOwnFile } from "./own-files.ts";

/** A saved server and key. */
interface ServerProfile {
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

/** The named profile. Without a name, the default profile, if it exists. */
function profileFor(name: string | undefined, env: Environment): ServerProfile | null {
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

export function saveProfiles(profiles: ReadonlyMap<string, ServerProfile>, env: Environment): string {
  const path = profilesFile(env);
  if (path === null) throw new UsageError("no home folder to save the profile in: set XDG_CONFIG_HOME");
  writeOwnFile(path, Object.fromEntries(profiles));
  return path;
}

function isProfile(value: unknown): value is ServerProfile {
  const { url, key } = (value ?? {}) as Partial<ServerProfile>;
  return typeof url === "string" && typeof key === "string";
}

/** Server and key of a client command. */
interface ServerConnection {
  readonly url: string;
  readonly key: string;
  /** Where an implicit key was found. Null if the key was given explicitly. */
  readonly keyFile: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Server options on the command line. */
export interface GivenServer {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly profile?: string | undefined;
}

/**
 * Precedence: `--url` and `--key`, the named profile, `POSTHORN_URL` and `POSTHORN_KEY`, the default profile. For a
 * local server without a key, the admin key of the data folder is used, because a user who can read it may use it
 * anyway.
 */
export function findServer(given: GivenServer, env: Environment): ServerConnection {
  const { url, key } = namedServer(given, env);
  if (key !== undefined) return { url: url.href, key, keyFile: null };
  if (!isLoopbackHost(url.hostname)) {
    throw new UsageError(`${url.origin} requires an API key: set POSTHORN_KEY or --key`);
  }
  const adminKey = nonEmpty(env["POSTHORN_ADMIN_KEY"]);
  if (adminKey !== undefined) return { url: url.href, key: adminKey, keyFile: "POSTHORN_ADMIN_KEY" };
  const keyFile =
    nonEmpty(env["POSTHORN_ADMIN_KEY_FILE"]) ??
    join(nonEmpty(env["POSTHORN_DATA_DIR"]) ?? "data", "admin.key");
  return { url: url.href, key: readAdminKey(keyFile), keyFile };
}

function namedServer(
  given: GivenServer,
  env: Environment,
): { readonly url: URL; readonly key: string | undefined } {
  const named = given.profile ?? nonEmpty(env["POSTHORN_PROFILE"]);
  const profile = named === undefined ? null : profileFor(named, env);
  const known = profile ?? (isNamed(given, env) ? null : profileFor(undefined, env));
  const text = given.url ?? profile?.url ?? nonEmpty(env["POSTHORN_URL"]) ?? known?.url ?? defaultUrl(env);
  const url = parseServerUrl(text);
  const fromEnvironment = profile === null ? nonEmpty(env["POSTHORN_KEY"]) : undefined;
  // A profile's key is only used for the profile's server.
  const fromProfile = known?.url === url.href ? known.key : undefined;
  return { url, key: given.key ?? fromEnvironment ?? fromProfile };
}

function isNamed({ url, key }: GivenServer, env: Environment): boolean {
  return [url, key, nonEmpty(env["POSTHORN_URL"]), nonEmpty(env["POSTHORN_KEY"])].some(
    (one) => one !== undefined,
  );
}

function defaultUrl(env: Environment): string {
  const port = nonEmpty(env["POSTHORN_PORT"]);
  return `http://127.0.0.1:${port !== undefined && /^\d+$/.test(port) ? port : "8080"}`;
}

export function parseServerUrl(text: string): URL {
  const url = URL.parse(text) ?? (/^[\w.-]+:\d+/.test(text) ? URL.parse(`http://${text}`) : null);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new UsageError(`"${text}" is not a valid server URL. Example: http://127.0.0.1:8080`);
  }
  if (/^\/v1\/?$/.test(url.pathname)) {
    throw new UsageError(`the server URL must not contain /v1: use ${url.origin}`);
  }
  return url;
}

function readAdminKey(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    const missing = codeOf(error) === "ENOENT";
    throw new UsageError(
      `no API key: --key and POSTHORN_KEY are unset, and ${path} ${missing ? "does not exist" : "cannot be read"}`,
      [
        "The server creates this file on its first start (npm start). Run this command in the same folder, or set POSTHORN_KEY.",
      ],
    );
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
