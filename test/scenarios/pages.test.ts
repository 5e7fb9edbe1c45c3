/**
 * Every block of every page is executed by a test, or the page gives the reason why not. This file executes the blocks
 * that other tests do not execute.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { openPosthorn, type Posthorn } from "../../src/app/library.ts";
import { root } from "../packages/built-package.fixture.ts";
import { validPair } from "../peers/certificates.ts";
import { type Receiver, startReceiver } from "../peers/receiver.ts";
import { posthornHere } from "./cli/command-line.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { blocksOf, type PageBlock, pages } from "./page-blocks.fixture.ts";

const run = promisify(execFile);

/** Blocks that another test executes or generates, identified by the start of `page language`. */
const elsewhere: readonly (readonly [blocks: string, test: string])[] = [
  ["README.md ", "test/scenarios/readme.test.ts"],
  ["docs/library.md js", "test/scenarios/readme.test.ts"],
  ["docs/signatures-and-rotation.md js", "test/scenarios/readme.test.ts"],
  ["docs/first-application.md ", "test/packages/first-application.test.ts"],
  ["docs/receiver.md js", "test/receiver/guide.test.ts"],
  ["packages/receiver/README.md js", "test/receiver/guide.test.ts"],
  ["packages/client/README.md js", "test/client/package.test.ts"],
  ["packages/client/README.md ts", "test/client/package.test.ts"],
  ["docs/types.md ts", "test/scenarios/cli/comforts.test.ts"],
  ["docs/types.md python", "test/scenarios/generated-types.test.ts"],
  ["docs/portal.md js", "test/browser/portal.browser.test.ts"],
  ["docs/languages/", "test/scenarios/languages.test.ts"],
  ["docs/cli.md ", "test/scenarios/cli/generated-pages.test.ts"],
  ["docs/check.md ", "test/scenarios/cli/generated-pages.test.ts"],
  ["docs/profiles.md ", "test/scenarios/cli/generated-pages.test.ts"],
  ["docs/operational-events.md json", "test/scenarios/cli/generated-pages.test.ts"],
  ["docs/gateway/providers/", "src/pages/page.test.ts"],
  ["docs/state-machine.md ", "src/domain/state-machine-docs.test.ts"],
];

const adminKey = "k".repeat(40);
const all = pages().flatMap((page) => blocksOf(page));
const here = all.filter(
  ({ page, language, notExecuted }) =>
    notExecuted === null &&
    language !== "" &&
    !elsewhere.some(([blocks]) => `${page} ${language}`.startsWith(blocks)),
);

suite("blocks of the pages", () => {
  let server: Posthorn;
  let receiver: Receiver;
  let ids: Readonly<Record<string, string>>;
  /** A key that may only publish. */
  let publishKey: string;
  const place = mkdtempSync(join(tmpdir(), "posthorn-pages-"));

  before(async () => {
    receiver = await startReceiver();
    server = await openPosthorn({
      dataDir: join(place, "data"),
      dev: true,
      listen: true,
      port: 0,
      logLevel: "error",
      adminKey,
    });
    // The folder to which commands write their files.
    process.chdir(place);
    ids = await fill(server, receiver);
    for (const file of Object.keys(filesOfPages)) writeFileSync(join(place, file), filesOfPages[file] ?? "");
    // Where a server without a configured key stores its generated key.
    writeFileSync(join(place, "data", "admin.key"), adminKey);
    const env = { POSTHORN_URL: server.url ?? "", POSTHORN_KEY: adminKey };
    const verification = '{"type":"github","secrets":["a long random string"]}';
    const made = await posthornHere(["sources", "create", "Shop", "--verification", verification, "--json"], {
      env,
    });
    assert.equal(made.status, 0, made.stderr);
    const key = await posthornHere(["keys", "create", "shop", "--role", "publish", "--json"], { env });
    assert.equal(key.status, 0, key.stderr);
    publishKey = /"key":"([^"]+)"/.exec(key.stdout)?.[1] ?? "";
    ids = { ...ids, SOURCE_ID: /"id":"([^"]+)"/.exec(made.stdout)?.[1] ?? "" };
  });
  after(async () => {
    await server.close();
    await receiver.close();
    process.chdir(root);
    rmSync(place, { recursive: true, force: true });
  });

  test("each is executed, or says why not", () => {
    const typed = here.filter(({ language }) => !["sh", "json"].includes(language));
    assert.deepEqual(
      typed.map(({ page, line, language }) => `${page}:${line} ${language}`),
      [],
      "name the test that executes it in `elsewhere`, or write <!-- not executed: why --> before it",
    );
    for (const [blocks, path] of elsewhere) {
      assert.ok(existsSync(join(root, path)), path);
      const isThere = all.some(({ page, language }) => `${page} ${language}`.startsWith(blocks));
      assert.ok(isThere, `there is no block ${blocks}`);
    }
  });

  test("a page that installs one of our packages says how its file is built until there is a release", () => {
    const installing = all.filter(({ code }) =>
      /^npm (install|i) (@posthorn\/|posthorn\b|\.\/posthorn-)/m.test(code),
    );
    assert.ok(installing.length > 4, `${installing.length} blocks`);
    for (const { page, line } of installing) {
      const text = readFileSync(join(root, page), "utf8");
      assert.match(text, /[Uu]ntil the first release[^]{0,300}npm pack\b/, `${page}:${line}`);
    }
  });

  for (const { page, line, code } of here.filter(({ language }) => language === "json"))
    test(`${page}:${line} is JSON`, () => {
      const isFragment = code.startsWith('"');
      assert.equal(typeof JSON.parse(isFragment ? `{${code}}` : code), "object");
    });

  for (const block of here.filter(({ language }) => language === "sh"))
    test(`${block.page}:${block.line} does what it says`, () => type(block));

  /** Variables that the page has exported so far, including those of this block. */
  function exportedUntil({ page, line }: PageBlock): Readonly<Record<string, string>> {
    const typed = all.filter((block) => block.page === page && block.line <= line).map(({ code }) => code);
    const names = typed.join("\n").matchAll(/^export (\w+)=phk_\.\.\.$/gm);
    return Object.fromEntries(Array.from(names, ([, name = ""]) => [name, publishKey]));
  }

  async function type(block: PageBlock): Promise<void> {
    const env = {
      POSTHORN_URL: server.url ?? "",
      POSTHORN_KEY: adminKey,
      POSTHORN_API_KEY: adminKey,
      KEY: adminKey,
      ADMIN_KEY: adminKey,
      ...exportedUntil(block),
    };
    for (const command of commandsOf(withTrueNames(block.code))) {
      const [, args = null] =
        /^(?:npm run (?:--silent )?posthorn --|(?:npx )?posthorn) ([^]*)$/.exec(command) ?? [];
      if (args === null) {
        const { stdout } = await run("bash", ["-e", "-o", "pipefail", "-c", command], {
          cwd: place,
          env: { ...process.env, ...env },
          // A command that does not exit must be in a block that is marked as not executed.
          timeout: 240_000,
        });
        assert.doesNotMatch(stdout, /"status":[45]\d\d/, `${command}\n${stdout}`);
        continue;
      }
      const [line = "", input = ""] = args.split(/ <<'JSON'\n/);
      const { status, stderr } = await posthornHere(words(line), {
        env,
        input: input.replace(/JSON\n?$/, ""),
      });
      assert.equal(status, 0, `${command}\n${stderr}`);
    }
  }

  function withTrueNames(code: string): string {
    const named = Object.entries(ids).reduce((text, [name, id]) => text.replaceAll(name, id), code);
    return named.replaceAll(/http:\/\/(?:127\.0\.0\.1|localhost):8080/g, server.url ?? "");
  }
});

const filesOfPages: Readonly<Record<string, string | Uint8Array>> = {
  "order.xml": "<order/>",
  "sender.pem": validPair.cert,
  "logo.png": Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==",
    "base64",
  ),
};

/** Lines of a script, joined with their continuation lines. */
function commandsOf(code: string): readonly string[] {
  return code
    .replaceAll("\\\n", "")
    .split(/\n(?=[a-zA-Z#])(?![^]*?^JSON$)|(?<=^JSON)\n/m)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/** Splits a command into words, as a shell does. */
function words(line: string): readonly string[] {
  const found = line.replace(/\s+# .*$/, "").matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g);
  return [...found].map(([word]) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, "$1$2"));
}

/** Creates a webhook that refuses everything, and returns the resulting resources by the names that the pages use. */
async function fill(posthorn: Posthorn, receiver: Receiver): Promise<Readonly<Record<string, string>>> {
  receiver.script(() => ({ status: 422 }));
  const { view } = await posthorn.webhooks.create({ url: receiver.url("/refuses"), events: ["order.*"] });
  await posthorn.tenants.put({ id: "acme", input: {} });
  await posthorn.publish({ eventType: "order.refused", data: {} });
  const dead = await eventually("the delivery is dead", {
    ask: () => posthorn.deadLetters.list({}),
    holds: ({ rows }) => rows.length === 1,
  });
  const problems = await eventually("a problem is told", {
    ask: () => posthorn.problems.list({}),
    holds: ({ rows }) => rows.length === 1,
  });
  return {
    WEBHOOK_ID: view.webhook.id,
    DELIVERY_ID: dead.rows[0]?.delivery.id ?? "",
    "0198c3f2-7a4e-8c11-9d3e-5b0a6f1e2d3c": problems.rows[0]?.problem.id ?? "",
    "019cb2d0-5d4f-7b3c-9f11-0a1b2c3d4e5f": view.webhook.id,
  };
}
