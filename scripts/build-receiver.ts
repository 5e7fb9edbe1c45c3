// Builds the npm package @posthorn/receiver:
//
//   node scripts/build-receiver.ts               into packages/receiver, where `npm pack` runs this first
//   node scripts/build-receiver.ts --out FOLDER  a complete package elsewhere, for tests

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { projectRoot } from "./source-files.ts";

const home = join(projectRoot, "packages", "receiver");
const { values } = parseArgs({ options: { out: { type: "string" } } });
const target = values.out === undefined ? home : resolve(values.out);

requireSameVersion();
rmSync(join(target, "dist"), { recursive: true, force: true });
mkdirSync(target, { recursive: true });
compile();
cpSync(join(projectRoot, "LICENSE"), join(target, "LICENSE"));
if (target !== home) {
  for (const name of ["package.json", "README.md"]) cpSync(join(home, name), join(target, name));
}
process.stderr.write(`built ${relative(projectRoot, target)}\n`);

/** The two packages of the repository are released together. */
function requireSameVersion(): void {
  const [kit, whole] = [home, projectRoot].map((folder) => versionIn(folder));
  if (kit !== whole) stop(`@posthorn/receiver is ${kit}, posthorn is ${whole}; they have one version`);
}

function versionIn(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  return manifest.version;
}

function compile(): void {
  const compiler = join(projectRoot, "node_modules", "typescript", "bin", "tsc");
  const args = ["--project", "tsconfig.receiver.json", "--outDir", join(target, "dist")];
  try {
    execFileSync(process.execPath, [compiler, ...args], { cwd: projectRoot, stdio: ["ignore", 2, 2] });
  } catch {
    stop("the build stopped at the errors above");
  }
}

function stop(problem: string): never {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
