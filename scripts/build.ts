// `npm run build`: compiles src/ into dist/, the content of the published package.
//
//   node scripts/build.ts               with a type check
//   node scripts/build.ts --unchecked   the same files without a type check, as in the check "published package"

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { bundlePages, type Pages } from "./bundle-dashboard.ts";
import { projectFiles, projectRoot } from "./source-files.ts";

const source = join(projectRoot, "src");
const target = join(projectRoot, "dist");
const program = join(target, "cli", "main.js");
/** Maximum compressed bytes. Only scripts of the first load count; pages and languages are loaded later. */
const compressedBytesMax: Readonly<
  Record<Pages, readonly (readonly [what: string, files: RegExp, max: number])[]>
> = {
  ui: [
    ["JavaScript of the dashboard", /\.js$/, 90 * 1_024],
    ["CSS of the dashboard", /\.css$/, 12 * 1_024],
  ],
  portal: [
    ["JavaScript of the portal", /^assets\/.*\.js$/, 45 * 1_024],
    ["CSS of the portal", /\.css$/, 12 * 1_024],
    ["embed.js", /^embed\.js$/, 4 * 1_024],
  ],
};
const { values } = parseArgs({ options: { unchecked: { type: "boolean", default: false } } });
const shebang = "#!/usr/bin/env node\n";

rmSync(target, { recursive: true, force: true });
compile();
copyAssets();
await buildPages("ui");
await buildPages("portal");
if (existsSync(program)) makeExecutable();
process.stderr.write(`built ${relative(projectRoot, target)}\n`);

function compile(): void {
  const compiler = join(projectRoot, "node_modules", "typescript", "bin", "tsc");
  try {
    // With more threads, each would compute the types of packages again.
    const options = ["--project", "tsconfig.build.json", "--singleThreaded"];
    execFileSync(process.execPath, [compiler, ...options, ...(values.unchecked ? ["--noCheck"] : [])], {
      cwd: projectRoot,
      stdio: "inherit",
    });
  } catch {
    process.stderr.write("the build stopped at the errors above\n");
    process.exit(1);
  }
}

/** Copies files that the code reads at run time. They keep their location relative to the code. */
function copyAssets(): void {
  for (const path of projectFiles()) {
    if (!path.startsWith("src/") || /\.(ts|md)$|\.fixture\./.test(path)) continue;
    cpSync(join(projectRoot, path), join(target, relative(source, join(projectRoot, path))));
  }
}

/** Written to dist/ui and dist/portal, where the server expects them. */
async function buildPages(pages: Pages): Promise<void> {
  const files = await bundlePages(pages);
  mkdirSync(join(target, pages, "assets"), { recursive: true });
  for (const [path, contents] of files) writeFileSync(join(target, pages, path), contents);
  for (const [what, form, bytesMax] of compressedBytesMax[pages]) {
    const counted = [...files].filter(([path]) => form.test(path));
    const first = loadedAtFirst(files);
    const bytes = brotliBytes(counted.filter(([path]) => first.has(path)));
    const all = brotliBytes(counted);
    process.stderr.write(
      `${what}: ${bytes} bytes (brotli), at most ${bytesMax}; ${all} with what is loaded later\n`,
    );
    if (bytes > bytesMax) process.exit(1);
  }
}

/** Files of the first load. This excludes scripts that are imported on demand. The document links only the others. */
function loadedAtFirst(files: ReadonlyMap<string, Uint8Array>): ReadonlySet<string> {
  const document = Buffer.from(files.get("index.html") ?? []).toString();
  return new Set(
    [...files.keys()].filter((path) => !path.startsWith("assets/part-") || document.includes(path)),
  );
}

function brotliBytes(files: readonly (readonly [path: string, contents: Uint8Array])[]): number {
  return files.reduce((sum, [, contents]) => sum + brotliCompressSync(contents).length, 0);
}

function makeExecutable(): void {
  const text = readFileSync(program, "utf8");
  if (!text.startsWith("#!")) writeFileSync(program, shebang + text);
  chmodSync(program, 0o755);
}
