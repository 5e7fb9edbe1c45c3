// `npm run runtimes`: both packages on Deno, Bun and Workers. The runtimes come as npm packages, into a temporary folder:
// nobody who does not ask for it downloads 100 MB.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { leftovers } from "../test/services/leftovers.ts";
import { projectRoot } from "./source-files.ts";

/** Where the package of each runtime has its program, and its version. */
const runtimes = [
  { name: "deno", version: "2.9.6", program: "deno" },
  { name: "bun", version: "1.4.5", program: "bin/bun" },
  { name: "workerd", version: "1.20261117.1", program: "bin/workerd" },
] as const;

/** Packages with the programs themselves, in the order of `runtimes`, by system. */
const packages: Readonly<Record<string, readonly string[]>> = {
  "linux-x64": ["@deno/linux-x64-glibc", "@oven/bun-linux-x64", "@cloudflare/workerd-linux-64"],
  "linux-arm64": ["@deno/linux-arm64-glibc", "@oven/bun-linux-aarch64", "@cloudflare/workerd-linux-arm64"],
  "darwin-arm64": ["@deno/darwin-arm64", "@oven/bun-darwin-aarch64", "@cloudflare/workerd-darwin-arm64"],
};

const folder = mkdtempSync(join(tmpdir(), "posthorn-runtimes-"));
leftovers.folder(folder);
try {
  process.exitCode = run();
} finally {
  leftovers.removeFolder(folder);
}

function run(): number {
  const system = `${process.platform}-${process.arch}`;
  const names = packages[system];
  if (names === undefined) {
    process.stderr.write(`there is no known package for ${system}\n`);
    return 1;
  }
  const wanted = runtimes.map(({ version }, place) => `${names[place]}@${version}`);
  process.stdout.write(`installing ${wanted.join(", ")}\n`);
  const install = ["install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", [...install, ...wanted], { stdio: "inherit", cwd: folder });
  const programs = runtimes.map(({ name, program }, place): readonly [string, string] => [
    `POSTHORN_TEST_${name.toUpperCase()}`,
    join(folder, "node_modules", names[place] ?? "", program),
  ]);
  const { status } = spawnSync(
    process.execPath,
    ["--conditions=posthorn-source", "scripts/test.ts", "test/packages/runtimes.test.ts"],
    { cwd: projectRoot, stdio: "inherit", env: { ...process.env, ...Object.fromEntries(programs) } },
  );
  return status ?? 1;
}
