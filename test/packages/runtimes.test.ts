/** Both packages without Node's modules, on Deno, Bun and Workers. `npm run runtimes` installs all three. */
import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import type { OpenedApi } from "../scenarios/api/client.fixture.ts";
import { openServer } from "../scenarios/api/running-server.fixture.ts";
import { bundled, works } from "./runtimes/bundle.fixture.ts";

const run = promisify(execFile);

const [deno, bun, workerd] = [found("deno"), found("bun"), found("workerd")];

const workerConfig = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (modules = [(name = "worker", esModule = embed "worker.mjs")],
      compatibilityDate = "2026-01-01", globalOutbound = "net")),
    (name = "net", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`;

suite("both packages on other runtimes", () => {
  let server: OpenedApi | null = null;
  const place = mkdtempSync(join(tmpdir(), "posthorn-runtimes-"));
  before(async () => {
    if ([deno, bun, workerd].some((program) => program !== null)) server = await openServer();
  });
  after(async () => {
    await server?.close();
    rmSync(place, { recursive: true, force: true });
  });

  const write = (name: string, text: string): string => {
    const path = join(place, name);
    writeFileSync(path, text);
    return path;
  };
  const address = () => JSON.stringify({ url: server?.baseUrl, key: server?.adminKey });
  const program = async (): Promise<string> =>
    write(
      "program.mjs",
      await bundled(
        `import { tryPosthorn } from "./application.mjs"; console.log(JSON.stringify(await tryPosthorn(${address()})));`,
      ),
    );

  test("Deno publishes and receives, with only the network permission", async (t) => {
    if (deno === null) return t.skip("no deno on the PATH; npm run runtimes brings one");
    const env = { ...process.env, DENO_DIR: join(place, "deno"), DENO_NO_UPDATE_CHECK: "1" };
    const { stdout } = await run(deno, ["run", "--no-prompt", "--allow-net", await program()], { env });
    assert.deepEqual(JSON.parse(stdout), works);
  });

  test("Bun publishes and receives", async (t) => {
    if (bun === null) return t.skip("no bun on the PATH; npm run runtimes brings one");
    const { stdout } = await run(bun, [await program()]);
    assert.deepEqual(JSON.parse(stdout), works);
  });

  test("a Worker publishes and receives", async (t) => {
    if (workerd === null) return t.skip("no workerd on the PATH; npm run runtimes brings one");
    write(
      "worker.mjs",
      await bundled(
        `import { tryPosthorn } from "./application.mjs";
         export default { fetch: async () => Response.json(await tryPosthorn(${address()})) };`,
      ),
    );
    const child = spawn(workerd, ["serve", write("config.capnp", workerConfig), "--control-fd=1"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.after(() => child.kill());
    for await (const line of createInterface({ input: child.stdout })) {
      const { event, port } = JSON.parse(line) as { readonly event: string; readonly port: number };
      if (event !== "listen") continue;
      const response = await fetch(`http://127.0.0.1:${port}/`);
      return assert.deepEqual(await response.json(), works);
    }
    assert.fail("the Worker did not listen");
  });
});

/** Returns the version installed by `npm run runtimes`, or else the system's version; null if neither exists. */
function found(name: "deno" | "bun" | "workerd"): string | null {
  const program = process.env[`POSTHORN_TEST_${name.toUpperCase()}`] ?? name;
  return spawnSync(program, ["--version"]).status === 0 ? program : null;
}
