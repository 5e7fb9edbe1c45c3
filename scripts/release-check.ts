// `npm run release-check -- v0.1.0`: whether the tag, the versions of all packages and the changelog agree.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { releaseProblems } from "./release/release-problems.ts";
import { projectRoot } from "./source-files.ts";

const problems = releaseProblems(process.argv[2] ?? "", (path) =>
  readFileSync(join(projectRoot, path), "utf8"),
);
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
