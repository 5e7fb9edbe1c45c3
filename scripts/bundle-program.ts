// Bundles the program `posthorn` into a few files for the tests that start it about two hundred times. Finding, reading
// and linking a thousand modules is the largest part of the cost of a start. The bundle is built from the same source,
// once per run. The tests of README.md and of the compose files run the source itself, and those of the image run the
// published files.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { projectRoot } from "./source-files.ts";

const modules = join(projectRoot, "node_modules");
/**
 * The folder is two levels below the root, like `src/cli` and `dist/cli`, because the program finds its package.json
 * from there.
 */
const prefix = ".posthorn-";
const requireForPackages =
  'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';
/**
 * Packages that are not bundled. A bundler resolves packages slightly differently from Node: the Redis client loses
 * commands, and pino does not find its thread. The other packages in the list are rarely loaded.
 */
const packagesLeftAlone = ["amqplib", "nodemailer", "pg", "pino", "redis"];
const unusedMsMax = 24 * 60 * 60 * 1_000;

const source = (path: string): string => join(projectRoot, "src", path);

/** Indexed by the names under which the program looks for its threads. */
const entryPoints = {
  main: source("cli/main.ts"),
  "sender-entry": source("app/sender-entry.ts"),
  "examiner-entry": source("app/examiner-entry.ts"),
  "compile-worker": source("schema/ajv/compile-worker.ts"),
  "checkpoint-worker": source("store/sqlite/driver/checkpoint-worker.ts"),
};

/**
 * Returns the path of the main file. The same source always results in the same folder, so the compile cache can be
 * reused.
 */
export async function bundleProgram(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints,
    bundle: true,
    splitting: true,
    write: false,
    platform: "node",
    format: "esm",
    target: "esnext",
    // Class names are kept because logs and errors contain them.
    keepNames: true,
    outdir: modules,
    external: packagesLeftAlone,
    // Needed by packages that call `require` at run time.
    banner: { js: requireForPackages },
    logLevel: "silent",
  });
  const hash = createHash("sha256");
  for (const { path, contents } of outputFiles) hash.update(basename(path)).update(contents);
  const folder = join(modules, `${prefix}${hash.digest("hex").slice(0, 16)}`);
  if (!existsSync(folder)) place(folder, outputFiles);
  removeUnused(folder);
  return join(folder, "main.js");
}

/** Moves the files with one rename, because another run may do the same at the same time. */
function place(
  folder: string,
  files: readonly { readonly path: string; readonly contents: Uint8Array }[],
): void {
  const mine = `${folder}.${process.pid}`;
  mkdirSync(mine, { recursive: true });
  writeFileSync(join(mine, "package.json"), '{ "type": "module" }\n');
  for (const { path, contents } of files) writeFileSync(join(mine, basename(path)), contents);
  try {
    renameSync(mine, folder);
  } catch (error) {
    rmSync(mine, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

function removeUnused(current: string): void {
  for (const name of readdirSync(modules).filter((some) => some.startsWith(prefix))) {
    const folder = join(modules, name);
    const isOld = statSync(folder).mtimeMs < Date.now() - unusedMsMax;
    if (folder !== current && isOld) rmSync(folder, { recursive: true, force: true });
  }
}
