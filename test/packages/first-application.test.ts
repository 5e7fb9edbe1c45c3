/**
 * Follows docs/first-application.md word for word, except for ports: both packages, a server, and applications that
 * publish and receive.
 */
import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, suite, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { openPosthorn, type Posthorn } from "../../src/app/library.ts";
import { posthornHere } from "../scenarios/cli/command-line.fixture.ts";
import { blocksOf } from "../scenarios/page-blocks.fixture.ts";
import { freePort } from "../services/own-process.fixture.ts";
import { root } from "./built-package.fixture.ts";

const run = promisify(execFile);
const blocks = blocksOf("docs/first-application.md").filter(({ notExecuted }) => notExecuted === null);
const adminKey = "k".repeat(40);

suite("the first application", () => {
  let server: Posthorn;
  let port: number;
  let env: NodeJS.ProcessEnv;
  const place = mkdtempSync(join(tmpdir(), "posthorn-first-"));

  before(async () => {
    port = await freePort();
    server = await openPosthorn({
      dataDir: join(place, "data"),
      dev: true,
      listen: true,
      port: 0,
      logLevel: "error",
      adminKey,
    });
    const modules = join(place, "node_modules");
    for (const name of ["client", "receiver"])
      execFileSync(
        process.execPath,
        [join(root, "scripts/build-package.ts"), name, "--out", join(modules, "@posthorn", name)],
        { stdio: ["ignore", "ignore", "pipe"] },
      );
    symlinkSync(join(root, "node_modules/express"), join(modules, "express"));
    writeFileSync(join(place, "package.json"), '{"type":"module"}');
    for (const { language, code } of blocks) {
      const name = /^\/\/ (\S+)\n/.exec(code)?.[1];
      if (language !== "js" || name === undefined) continue;
      mkdirSync(dirname(join(place, name)), { recursive: true });
      writeFileSync(join(place, name), code.replaceAll("3000", String(port)));
    }
    env = await prepare();
  });
  after(async () => {
    await server.close();
    rmSync(place, { recursive: true, force: true });
  });

  /**
   * Runs the commands that create the key and the webhook, and sets the values from their responses as the page
   * instructs.
   */
  async function prepare(): Promise<NodeJS.ProcessEnv> {
    const asAdmin = { POSTHORN_URL: server.url ?? "", POSTHORN_KEY: adminKey };
    const [typed = ""] = blocks.filter(({ language }) => language === "sh").map(({ code }) => code);
    const answers: string[] = [];
    for (const line of typed.trim().split("\n")) {
      const args = line
        .replace(/^npx posthorn /, "")
        .replaceAll("3000", String(port))
        .replaceAll("'", "")
        .split(" ");
      const { status, stdout, stderr } = await posthornHere(args, { env: asAdmin });
      assert.equal(status, 0, stderr);
      answers.push(stdout);
    }
    const [key, webhook] = answers;
    return {
      ...process.env,
      POSTHORN_URL: server.url ?? "",
      PUBLISH_KEY: /^key +(phk_\S+)$/m.exec(key ?? "")?.[1],
      WEBHOOK_SECRET: /^secret +(whsec_\S+)$/m.exec(webhook ?? "")?.[1],
    };
  }

  test("Express: an order is published and received", async (t) => {
    const shop = spawn(process.execPath, ["shop.js"], {
      cwd: place,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.after(() => shop.kill());
    const said = new Heard(shop.stdout);
    await said.until(/the shop is open/);
    const order = blocks.findLast(({ language }) => language === "sh")?.code ?? "";
    const { stdout } = await run("bash", ["-c", order.replaceAll("3000", String(port))]);
    assert.equal((JSON.parse(stdout) as { readonly webhooks: number }).webhooks, 1);
    await said.until(/received \{[^]*order_id: '4711'/);
    shop.kill();
    await once(shop, "exit");
  });

  test("Next.js: the same in route handlers, built without secrets", async (t) => {
    const { orders, webhooks } = await loadRoutes();
    const { promise: received, resolve } = Promise.withResolvers<{ readonly data: unknown }>();
    t.mock.method(console, "log", (_: string, event: { readonly data: unknown }) => resolve(event));
    const proxy = createServer((request, response) => {
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const headers = request.headers as Record<string, string>;
        const { status } = await webhooks(
          new Request("http://shop.example/webhooks", {
            method: "POST",
            headers,
            body: Buffer.concat(chunks),
          }),
        );
        response.writeHead(status).end();
      })();
    }).listen(port, "127.0.0.1");
    t.after(() => proxy.close());
    const body = JSON.stringify({ id: "4712" });
    const response = await orders(new Request("http://shop.example/orders", { method: "POST", body }));
    assert.equal(response.status, 201);
    assert.deepEqual((await received).data, { order_id: "4712" });
  });

  async function loadRoutes() {
    Object.assign(process.env, { POSTHORN_URL: env["POSTHORN_URL"], PUBLISH_KEY: env["PUBLISH_KEY"] });
    const [orders, webhooks] = (await Promise.all(
      ["orders", "webhooks"].map((name) => import(pathToFileURL(join(place, "app", name, "route.js")).href)),
    )) as { readonly POST: (request: Request) => Promise<Response> }[];
    process.env["WEBHOOK_SECRET"] = env["WEBHOOK_SECRET"];
    assert.ok(orders !== undefined && webhooks !== undefined);
    return { orders: orders.POST, webhooks: webhooks.POST };
  }
});

/** The output of a program so far. */
class Heard {
  readonly #stream: NodeJS.ReadableStream;
  #text = "";

  constructor(stream: NodeJS.ReadableStream) {
    this.#stream = stream;
    stream.on("data", (chunk: Buffer) => (this.#text += chunk.toString()));
  }

  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.#text))
      await once(this.#stream, "data", { signal: AbortSignal.timeout(60_000) });
  }
}
