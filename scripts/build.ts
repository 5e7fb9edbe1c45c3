// `npm run build`: compiles src/ into dist/, the content of the published package.

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { projectFiles, projectRoot } from "./source-files.ts";

const source = join(projectRoot, "src");
const target = join(projectRoot, "dist");
const program = join(target, "cli", "main.js");
const shebang = "#!/usr/bin/env node\n";

rmSync(target, { recursive: true, force: true });
compile();
copyAssets();
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

function makeExecutable(): void {
  const text = readFileSync(program, "utf8");
  if (!text.startsWith("#!")) writeFileSync(program, shebang + text);
  chmodSync(program, 0o755);
}
