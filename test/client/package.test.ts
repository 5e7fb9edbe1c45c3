import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { codeBlocks, InstalledPackage } from "../packages/built-package.fixture.ts";
import {
  assertHoldsNothingElse,
  assertImportsNeighboursOnly,
  assertStandsAlone,
  assertTypesAreComplete,
  entryFiles,
} from "../packages/package-checks.fixture.ts";
import type { OpenedApi } from "../scenarios/api/client.fixture.ts";
import { openServer } from "../scenarios/api/running-server.fixture.ts";
import { node20For } from "../services/node20.fixture.ts";

const page = "packages/client/README.md";
const run = promisify(execFile);

/** The programs on the page, by the file name in their first line. */
function programs(language: string): ReadonlyMap<string, string> {
  return new Map(
    codeBlocks(page, language).map((code) => {
      const name = /^\/\/ ([\w-]+\.[jt]s)\n/.exec(code)?.[1];
      assert.ok(name !== undefined, `a program without its name in the first line:\n${code}`);
      return [name, code];
    }),
  );
}

const prints: Readonly<Record<string, RegExp>> = {
  "publish.js": /^published order\.completed for 0 webhooks\n$/,
  "patience.js": /^published\n$/,
  "errors.js": /^invalid_request event_type\n$/,
  "lists.js": /^give this to the receiver: whsec_\nthere are events\n$/,
  "outbox.js": /^published\n$/,
};

suite("the package @posthorn/client", () => {
  let installed: InstalledPackage;
  let server: OpenedApi;
  before(async () => {
    installed = new InstalledPackage("client");
    server = await openServer();
  });
  after(async () => {
    installed[Symbol.dispose]();
    await server.close();
  });

  test("has no dependencies, the version of posthorn, a licence and a README", () => {
    assertStandsAlone(installed);
  });

  test("every entry leads to code and types, and every store of the outbox has one", () => {
    const targets = entryFiles(installed);
    const stores = installed
      .files()
      .filter((path) => /outbox\/[a-z]+-store\.js$/.test(path) && !/outbox-store/.test(path));
    assert.equal(stores.length, 2);
    for (const path of stores) assert.ok(targets.includes(`./${path}`), `${path} has no entry`);
  });

  test("contains no tests, and of Posthorn only what it imports", () => {
    assertHoldsNothingElse(installed);
  });

  test("modules import only each other, so the package runs without Node's modules", () => {
    assertImportsNeighboursOnly(installed);
  });

  const consumes = async (node: string) => {
    const program = installed.write(
      "consumer.mjs",
      readFileSync(join(import.meta.dirname, "consumer.mjs"), "utf8"),
    );
    const { stdout } = await run(node, [program, server.baseUrl, server.adminKey], {
      cwd: installed.project,
    });
    assert.deepEqual(JSON.parse(stdout), { isThere: true, code: "invalid_request", outbox: "function" });
  };

  test("publishes and reads on the newest Node", () => consumes(process.execPath));

  test("publishes and reads on Node 20", async (t) => {
    const node = node20For(t);
    if (node !== null) await consumes(node);
  });

  test("its types are complete: in a strict project with Node's types, and in one with only the browser's types", () => {
    assertTypesAreComplete(installed, programs("ts").get("typed.ts") ?? "");
  });

  test("the page shows these programs", () => {
    assert.deepEqual([...programs("js").keys()], [...Object.keys(prints), "postgres-outbox.js"]);
  });

  for (const [name, said] of Object.entries(prints)) {
    test(`${name} of the page does what it says`, async () => {
      installed.write(name, programs("js").get(name) ?? "");
      const { stdout } = await run(process.execPath, [name], {
        cwd: installed.project,
        env: { ...process.env, POSTHORN_URL: server.baseUrl, POSTHORN_KEY: server.adminKey },
      });
      assert.match(stdout, said);
    });
  }
});
