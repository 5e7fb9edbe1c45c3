// `npm run release-check -- v0.1.0`: checks that the tag, the versions of all packages and the changelog agree.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "./source-files.ts";

/** The packages that are released together, by folder. */
export const releasedPackages = [".", "packages/receiver", "packages/client"] as const;

/** Problems that prevent this tag from being published; empty if there are none. */
export function releaseProblems(
  /** For example `v0.1.0`. */ tag: string,
  read: (path: string) => string,
): readonly string[] {
  const [, version] = /^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/.exec(tag) ?? [];
  if (version === undefined) return [`"${tag}" is not a tag of a release, such as v0.1.0`];
  const manifests = releasedPackages.flatMap((folder) => {
    const { name, version: own } = JSON.parse(read(`${folder}/package.json`)) as {
      name: string;
      version: string;
    };
    return own === version ? [] : [`${name} has version ${own}, the tag says ${version}`];
  });
  const lock = (JSON.parse(read("package-lock.json")) as { version: string }).version;
  const headings = [...read("CHANGELOG.md").matchAll(/^## \[([^\]]+)\]/gm)].map(([, heading]) => heading);
  return [
    ...manifests,
    ...(lock === version ? [] : [`package-lock.json has version ${lock}, the tag says ${version}`]),
    ...(headings.includes(version) ? [] : [`CHANGELOG.md has no section ## [${version}]`]),
  ];
}

if (import.meta.main) {
  const problems = releaseProblems(process.argv[2] ?? "", (path) =>
    readFileSync(join(projectRoot, path), "utf8"),
  );
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}
