// `npm run build`: compiles src/ into dist/, the content of the published package.

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { bundleDashboard } from "./bundle-dashboard.ts";
import { projectFiles, projectRoot } from "./source-files.ts";

const source = join(projectRoot, "src");
const target = join(projectRoot, "dist");
const program = join(target, "cli", "main.js");
/** Of the dashboard, on its first load. */
const compressedBytesMax = { ".js": 90 * 1_024, ".css": 12 * 1_024 };
const shebang = "#!/usr/bin/env node\n";

rmSync(target, { recursive: true, force: true });
compile();
copyAssets();
await buildDashboard();
if (existsSync(program)) makeExecutable();
process.stderr.write(`built ${relative(projectRoot, target)}\n`);

function compile(): void {
  const compiler = join(projectRoot, "node_modules", "typescript", "bin", "tsc");
  try {
    execFileSync(process.execPath, [compiler, "--project", "tsconfig.build.json"], {
      cwd: projectRoot,
      stdio: "inherit",
    });
  } catch {
    process.stderr.write("the build stopped at the errors above\n");
    process.exit(1);
  }
}

/** Migrations, templates and the like lie beside the code that reads them, and stay there. */
function copyAssets(): void {
  for (const path of projectFiles()) {
    if (!path.startsWith("src/") || /\.(ts|md)$|\.fixture\./.test(path)) continue;
    cpSync(join(projectRoot, path), join(target, relative(source, join(projectRoot, path))));
  }
}

/** Beside the code, where the server looks for it. */
async function buildDashboard(): Promise<void> {
  const files = await bundleDashboard();
  for (const [path, contents] of files) {
    mkdirSync(join(target, "ui", "assets"), { recursive: true });
    writeFileSync(join(target, "ui", path), contents);
  }
  for (const [kind, bytesMax] of Object.entries(compressedBytesMax)) {
    const bytes = [...files]
      .filter(([path]) => path.endsWith(kind))
      .reduce((sum, [, contents]) => sum + brotliCompressSync(contents).length, 0);
    process.stderr.write(`the dashboard has ${bytes} bytes of ${kind} (brotli), at most ${bytesMax}\n`);
    if (bytes > bytesMax) process.exit(1);
  }
}

function makeExecutable(): void {
  const text = readFileSync(program, "utf8");
  if (!text.startsWith("#!")) writeFileSync(program, shebang + text);
  chmodSync(program, 0o755);
}
