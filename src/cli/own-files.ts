import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tryParseJson } from "../core/json/try-parse.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What commands keep for a person, in files that nobody else can read; null where there is no home. */
export function ownFile(name: string, env: Environment): string | null {
  const { XDG_CONFIG_HOME: config, HOME: home, USERPROFILE: profile } = env;
  if (config !== undefined && config !== "") return join(config, "posthorn", name);
  const folder = home ?? profile;
  return folder === undefined || folder === "" ? null : join(folder, ".config", "posthorn", name);
}

/** Empty where there is no file, or none that can be read. */
export function readOwnFile(path: string | null): Readonly<Record<string, unknown>> {
  if (path === null) return {};
  try {
    const value = tryParseJson(readFileSync(path, "utf8"));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Whole or not at all. */
export function writeOwnFile(path: string, content: Readonly<Record<string, unknown>>): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const written = `${path}.${process.pid}`;
  writeFileSync(written, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  renameSync(written, path);
}
