import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tryParseJson } from "../domain/json/json-text.ts";

/**
 * File mode mask of commands that write data, so that payloads and backups are readable only by their owner. The
 * library does not change the mask, because it belongs to the host program.
 */
export const ownerOnly = 0o077;

type Environment = Readonly<Record<string, string | undefined>>;

/** Path of a per-user file, readable only by its owner. Null without a home folder. */
export function ownFile(name: string, env: Environment): string | null {
  const { XDG_CONFIG_HOME: config, HOME: home, USERPROFILE: profile } = env;
  if (config !== undefined && config !== "") return join(config, "posthorn", name);
  const folder = home ?? profile;
  return folder === undefined || folder === "" ? null : join(folder, ".config", "posthorn", name);
}

/** Empty if the file is missing or unreadable. */
export function readOwnFile(path: string | null): Readonly<Record<string, unknown>> {
  if (path === null) return {};
  try {
    const value = tryParseJson(readFileSync(path, "utf8"));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Writes the file atomically. */
export function writeOwnFile(path: string, content: Readonly<Record<string, unknown>>): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const written = `${path}.${process.pid}`;
  writeFileSync(written, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  renameSync(written, path);
}
