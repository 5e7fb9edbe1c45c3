// Checks that the lock file is exact, consistent with package.json, and without download URLs. The URL of a mirror
// would break every clone elsewhere.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckResult } from "./check.ts";
import { projectRoot } from "./source-files.ts";

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
  readonly dev?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const dependencyKinds = ["dependencies", "devDependencies", "optionalDependencies"] as const;

export function checkLockFile(): CheckResult {
  const manifest = readJson<LockedPackage>("package.json");
  const { packages } = readJson<{ readonly packages: Readonly<Record<string, LockedPackage>> }>(
    "package-lock.json",
  );
  const installed = Object.entries(packages).filter(([path]) => path !== "");
  return {
    problems: [
      ...installed.flatMap(([path, entry]) => problemsOfEntry(path, entry)),
      ...problemsOfPlatforms(packages),
      ...dependencyKinds.flatMap((kind) => problemsOfRanges(kind, manifest, packages[""] ?? {})),
    ],
    note: `${installed.length} packages`,
  };
}

function problemsOfEntry(path: string, entry: LockedPackage): string[] {
  if (entry.link === true || entry.inBundle === true) return [];
  const problems: string[] = [];
  if (entry.resolved !== undefined) {
    problems.push(
      `${path}: has a download address; .npmrc (omit-lockfile-registry-resolved) was not in force`,
    );
  }
  if (entry.integrity === undefined) problems.push(`${path}: has no integrity hash`);
  const isForOnePlatform = entry.os !== undefined || entry.cpu !== undefined;
  if (isForOnePlatform && entry.dev !== true) {
    problems.push(
      `${path}: a runtime dependency for one platform alone; npm start would not work on another one`,
    );
  }
  return problems;
}

/**
 * Finds missing optional packages. npm ci refuses a lock file that lists the optional packages of only one platform.
 */
function problemsOfPlatforms(packages: Readonly<Record<string, LockedPackage>>): string[] {
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !Object.keys(packages).some((other) => other.endsWith(`node_modules/${name}`)))
      .map(
        (name) =>
          `${path || "package.json"}: the lock file has no entry for its optional dependency ${name}; delete ` +
          "package-lock.json and node_modules and run npm install --package-lock-only",
      ),
  );
}

function problemsOfRanges(
  kind: (typeof dependencyKinds)[number],
  manifest: LockedPackage,
  locked: LockedPackage,
): string[] {
  const wanted = manifest[kind] ?? {};
  const present = locked[kind] ?? {};
  const names = new Set([...Object.keys(wanted), ...Object.keys(present)]);
  return [...names].flatMap((name) => {
    if (wanted[name] !== present[name])
      return [`${kind}: ${name} differs from package.json; run npm install`];
    return /^(npm:.+@)?\d/.test(wanted[name] ?? "") ? [] : [`${kind}: ${name} is not an exact version`];
  });
}

function readJson<Shape>(path: string): Shape {
  return JSON.parse(readFileSync(join(projectRoot, path), "utf8")) as Shape;
}
