// Builds an npm package from the folder `packages`:
//
//   node scripts/build-package.ts receiver               into packages/receiver, where `npm pack` runs this first
//   node scripts/build-package.ts receiver --out FOLDER  a complete package elsewhere, for tests

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { projectRoot } from "./source-files.ts";

const { values, positionals } = parseArgs({ options: { out: { type: "string" } }, allowPositionals: true });
const [name = ""] = positionals;
const home = join(projectRoot, "packages", name);
const target = values.out === undefined ? home : resolve(values.out);

requireSameVersion();
rmSync(join(target, "dist"), { recursive: true, force: true });
mkdirSync(target, { recursive: true });
compile();
cpSync(join(projectRoot, "LICENSE"), join(target, "LICENSE"));
if (target !== home) {
  for (const file of ["package.json", "README.md"]) cpSync(join(home, file), join(target, file));
}
process.stderr.write(`built ${relative(projectRoot, target)}\n`);

/** The packages of the repository are released together. */
function requireSameVersion(): void {
  const [part, whole] = [home, projectRoot].map((folder) => versionIn(folder));
  if (part !== whole) stop(`@posthorn/${name} is ${part}, posthorn is ${whole}; they have one version`);
}

function versionIn(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  return manifest.version;
}

function compile(): void {
  const compiler = join(projectRoot, "node_modules", "typescript", "bin", "tsc");
  const args = ["--project", `tsconfig.${name}.json`, "--outDir", join(target, "dist"), "--singleThreaded"];
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
