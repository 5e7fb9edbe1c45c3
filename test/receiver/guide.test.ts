/** The programs in docs/receiver.md and in the package's README run unchanged, except for ports. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { rejectionCauses } from "../../src/receiver/message/message.ts";
import { providerTable } from "../../src/receiver/providers/index.ts";
import { codeBlocks, InstalledPackage, root } from "../packages/built-package.fixture.ts";

const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
const key = Buffer.alloc(32, 3);
const environment = {
  WEBHOOK_SECRET: `whsec_${key.toString("base64")}`,
  SHOP_SECRET: `whsec_${key.toString("base64")}`,
  SHOP_SECRET_OLD: `whsec_${Buffer.alloc(32, 4).toString("base64")}`,
  BANK_PUBLIC_KEY: `whpk_${Buffer.alloc(32, 1).toString("base64")}`,
  GITHUB_SECRET: "hush",
};

function signed(id: string) {
  const timestamp = Math.floor(Date.now() / 1_000);
  const body = '{"type":"order.paid","data":{"order_id":"4711"}}';
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": `v1,${mac}`,
  };
  return { method: "POST", headers, body };
}

/** The code blocks of the guide, by the file name in their first line. */
function programs(port: number): ReadonlyMap<string, string> {
  return new Map(
    codeBlocks("docs/receiver.md", "js").map((code) => {
      const name = /^\/\/ ([\w-]+\.js)\n/.exec(code)?.[1];
      assert.ok(name !== undefined, `a program without its name in the first line:\n${code}`);
      return [name, code.replaceAll("4000", String(port))];
    }),
  );
}

const servers = ["node-http.js", "express.js", "fastify.js"];
const modules = [
  "any-hmac.js",
  "fetch.js",
  "hono.js",
  "rotation.js",
  "transaction.js",
  "inbox.js",
  "github.js",
  "addresses.js",
];

suite("the guide to the receiver kit", () => {
  let installed: InstalledPackage;
  let port: number;
  before(async () => {
    installed = new InstalledPackage("receiver");
    port = await freePort();
    for (const name of ["express", "fastify", "hono"]) installed.link(name);
    for (const [name, code] of programs(port)) installed.write(name, code);
    installed.write(
      "page.js",
      (codeBlocks("packages/receiver/README.md", "js")[0] ?? "").replaceAll("4000", String(port)),
    );
  });
  after(() => installed[Symbol.dispose]());

  test("every program that it shows is named in this test", () => {
    assert.deepEqual([...programs(1).keys()].toSorted(), ["receiver.js", ...servers, ...modules].toSorted());
    assert.equal(codeBlocks("packages/receiver/README.md", "js").length, 1);
  });

  for (const name of [...servers, "page.js"]) {
    test(`${name} accepts only signed messages`, async () => {
      await using program = new Program(installed, name);
      const url = `http://127.0.0.1:${port}/webhooks`;
      await program.untilListening(url);
      assert.equal((await fetch(url, signed("m-1"))).status, 204);
      assert.equal((await fetch(url, { ...signed("m-2"), body: "{}" })).status, 401);
      assert.match(program.output, /received m-1 \{ type: 'order\.paid', data: \{ order_id: '4711' \} \}/);
      assert.doesNotMatch(program.output, /m-2/);
    });
  }

  test("the modules do what the text says", async () => {
    const checks = `
      import assert from "node:assert/strict";
      import { POST, OPTIONS } from "./fetch.js";
      import { app } from "./hono.js";
      import { verifier } from "./rotation.js";
      import { database, receiver as transactional } from "./transaction.js";
      import { inbox, receiver as patient } from "./inbox.js";
      import { verifier as anyHmac } from "./any-hmac.js";
      import "./github.js";
      import "./addresses.js";
      import { fetchHandler } from "@posthorn/receiver/fetch";

      const request = (message) => new Request("https://example.com/webhooks", message);
      const [first, second, third, fourth, fifth] = ${JSON.stringify(["a", "b", "c", "d", "e"].map(signed))};
      assert.equal((await POST(request(first))).status, 204);
      assert.equal((await OPTIONS(new Request("https://example.com/webhooks", { method: "OPTIONS" }))).status, 405);
      assert.equal((await app.fetch(request(second))).status, 204);
      const { producer } = await verifier.verify(
        { method: "POST", url: "/", headers: new Headers(third.headers), body: new TextEncoder().encode(third.body) },
        { nowSeconds: Number(third.headers["webhook-timestamp"]) },
      );
      assert.equal(producer, "shop");
      const unsigned = { method: "POST", url: "/", headers: new Headers(), body: new Uint8Array() };
      assert.equal((await anyHmac.verify(unsigned, { nowSeconds: 0 })).cause, "missing_header");
      const once = fetchHandler(transactional);
      assert.equal((await once(request(fourth))).status, 204);
      assert.equal((await once(request(fourth))).status, 204);
      assert.deepEqual(database.prepare("SELECT count(*) AS n FROM orders").get().n, 1);
      const processed = Promise.withResolvers();
      const { log } = console;
      console.log = (...values) => (log(...values), values[0] === "processed" && processed.resolve());
      assert.equal((await fetchHandler(patient)(request(fifth))).status, 202);
      await processed.promise;
      await inbox.stop();
    `;
    installed.write("checks.js", checks);
    const output = await new Program(installed, "checks.js").toEnd();
    assert.match(output, /processed e attempt 1/);
    assert.match(output, /\/_webhooks\/transactify\/v2\/transaction-complete/);
    assert.match(
      output,
      /party: 'acme',\s+namespace: 'payments',\s+version: '3',\s+eventType: 'refund\.created'/,
    );
  });

  test("its quick start compiles in strict TypeScript", () => {
    const names = ["receiver.js", "node-http.js"];
    const typed = names.map((name) => name.replace(/js$/, "ts"));
    for (const [index, name] of names.entries())
      installed.write(typed[index] ?? "", programs(1).get(name) ?? "");
    const types = join(root, "node_modules", "@types");
    const options = ["--strict", "--noEmit", "--skipLibCheck", "--module", "nodenext", "--target", "es2023"];
    const given = [...options, "--typeRoots", types, "--types", "node", ...typed];
    const { status, stdout } = spawnSync(process.execPath, [compiler, ...given], {
      cwd: installed.project,
      encoding: "utf8",
    });
    assert.equal(status, 0, stdout);
  });

  test("its quick start says why a message was rejected, and which form a secret has", async () => {
    await using program = new Program(installed, "node-http.js");
    await program.untilListening(`http://127.0.0.1:${port}/`);
    const wrong = signed("wrong-secret");
    const headers = { ...wrong.headers, "webhook-signature": `v1,${Buffer.alloc(32).toString("base64")}` };
    assert.equal((await fetch(`http://127.0.0.1:${port}/`, { ...wrong, headers })).status, 401);
    await program.untilSaid(/refused: bad_signature .+/);
    await using made = new Program(installed, "receiver.js", { WEBHOOK_SECRET: "made up by hand" });
    await made.closed;
    assert.match(made.output, /whsec_.*base64/);
    assert.doesNotMatch(made.output, /made up/);
  });

  test("its tables of providers and of causes are complete", () => {
    const page = readFileSync(join(root, "docs/receiver.md"), "utf8");
    for (const {
      title,
      name,
      documentation,
      algorithm,
      headers,
      signed: content,
      ...more
    } of providerTable) {
      const fields = headers.map((header) => `\`${header}\``).join(", ");
      const signature = [algorithm, fields].filter((part) => part !== "").join("; ");
      const cells = [`[${title}](${documentation})`, `\`${name}\``, signature, `\`${content}\``];
      const line = [...cells, more.key, more.replayProtection, more.messageId].join(" | ");
      assert.ok(page.includes(`\n| ${line} |\n`), `docs/receiver.md needs the line\n| ${line} |`);
    }
    const causes = [...page.matchAll(/^\| `(\w+)` \| [A-Z]/gm)].map(([, cause]) => cause);
    assert.deepEqual(causes, [...rejectionCauses, "misconfigured", "body_already_parsed"]);
  });
});

class Program implements AsyncDisposable {
  readonly #child;
  readonly closed: Promise<unknown>;
  output = "";

  constructor({ project }: InstalledPackage, name: string, env: Readonly<Partial<typeof environment>> = {}) {
    this.#child = spawn(process.execPath, [join(project, name)], {
      cwd: project,
      env: { ...process.env, ...environment, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.closed = once(this.#child, "close");
    this.#child.stdout.on("data", (chunk: Buffer) => (this.output += chunk.toString()));
    this.#child.stderr.on("data", (chunk: Buffer) => (this.output += chunk.toString()));
  }

  async untilListening(url: string): Promise<void> {
    const endsAt = performance.now() + 60_000;
    for (;;) {
      const isThere = await fetch(url).then(
        () => true,
        () => false,
      );
      if (isThere) return;
      if (this.#child.exitCode !== null || performance.now() > endsAt) assert.fail(this.output);
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  async untilSaid(pattern: RegExp): Promise<void> {
    const endsAt = performance.now() + 60_000;
    while (!pattern.test(this.output)) {
      if (performance.now() > endsAt) assert.fail(this.output);
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  async toEnd(): Promise<string> {
    await this.closed;
    assert.equal(this.#child.exitCode, 0, this.output);
    return this.output;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await this.closed;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
