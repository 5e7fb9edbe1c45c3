// Tools whose program is compiled: npm installs it as an optional package, one for each platform. npm reports success
// even when such a package cannot be installed.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "./source-files.ts";

interface Manifest {
  readonly version?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Packages that a tool starts besides itself. */
const companions: Readonly<Record<string, readonly string[]>> = { oxlint: ["oxlint-tsgolint"] };

/** A sentence about what is missing and how to get it; null when the tool can run. `script` begins with its package. */
export function missingProgram(script: string, root = projectRoot): string | null {
  const name = packageOf(script);
  const parts = [name, ...(companions[name] ?? [])];
  return parts.map((part) => missingOf(part, root)).find((missing) => missing !== null) ?? null;
}

function missingOf(name: string, root: string): string | null {
  const manifest = readManifest(join(root, "node_modules", name));
  if (manifest === null) return `${name} is not installed`;
  const programs = Object.entries(manifest.optionalDependencies ?? {});
  if (programs.length === 0) return null;
  const isInstalled = ([program]: readonly [string, string]): boolean =>
    existsSync(join(root, "node_modules", program)) ||
    existsSync(join(root, "node_modules", name, "node_modules", program));
  if (programs.some(isInstalled)) return null;
  const platform = `${process.platform}-${process.arch}`;
  const [own, version] = programs.find(([program]) => program.includes(platform)) ?? [];
  const remedy = own === undefined ? "" : `; to have it: npm install --no-save ${own}@${version}`;
  return `${name} has no program for ${platform} here${remedy}`;
}

function readManifest(folder: string): Manifest | null {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  } catch {
    return null;
  }
}

/** `@biomejs/biome/bin/biome` is in `@biomejs/biome`. */
function packageOf(script: string): string {
  return script
    .split("/")
    .slice(0, script.startsWith("@") ? 2 : 1)
    .join("/");
}
