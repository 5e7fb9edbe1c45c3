/**
 * The programs in docs/languages run unchanged except for keys, if their language is installed. The others are marked
 * as not run.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { type LanguageProgram, programsOf } from "../../scripts/bundle-dashboard.ts";
import { root } from "../packages/built-package.fixture.ts";
import { freePort } from "../services/own-process.fixture.ts";
import type { OpenedApi } from "./api/client.fixture.ts";
import { openServer } from "./api/running-server.fixture.ts";

const run = promisify(execFile);
const pages = join(root, "docs", "languages");

interface Program extends Pick<LanguageProgram, "name" | "code" | "isExecuted"> {
  readonly page: string;
}

const programs = readdirSync(pages).flatMap((page): Program[] =>
  programsOf(readFileSync(join(pages, page), "utf8")).map(({ name, code, isExecuted }) => ({
    page,
    name,
    code,
    isExecuted,
  })),
);

const key = Buffer.alloc(32, 7);
const secret = `whsec_${key.toString("base64")}`;
const body = '{"type":"order.completed","timestamp":"2026-01-31T09:30:00Z","data":{"order_id":"4711"}}';

function signedHeaders(): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const mac = createHmac("sha256", key).update(`msg_1.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": `v1,AAAA v1,${mac}` };
}

/** Programs that print `true` for the message, and `false` for a different body with the same signature. */
const drivers: Readonly<Record<string, string>> = {
  "verify.mjs": `
const [, , signed, ...bodies] = process.argv;
for (const text of bodies) {
  try { verify(text, JSON.parse(signed)); console.log("true"); } catch { console.log("false"); }
}
`,
  "receive.mjs": `
const [, , signed, ...bodies] = process.argv;
const answers = [];
async function sent(body) {
  const headers = { "content-type": "application/json", ...JSON.parse(signed) };
  for (;;) {
    try {
      return await fetch("http://127.0.0.1:" + process.env.PORT, { method: "POST", headers, body });
    } catch {
      // It does not listen yet.
      await new Promise(setImmediate);
    }
  }
}
for (const text of bodies) answers.push((await sent(text)).ok);
process.stdout.write(answers.join("\\n") + "\\n", () => process.exit());
`,
  "verify.py": `
import sys
for text in sys.argv[2:]:
    try:
        verify(text.encode(), json.loads(sys.argv[1]))
        print("true")
    except ValueError:
        print("false")
`,
  "Verify.java": `
    public static void main(String[] args) throws Exception {
        var headers = new java.util.HashMap<String, String>();
        for (var pair : args[0].replaceAll("[{}\\"]", "").split(",(?=webhook)")) {
            var at = pair.indexOf(':');
            headers.put(pair.substring(0, at), pair.substring(at + 1));
        }
        for (var index = 1; index < args.length; index++)
            System.out.println(isAuthentic(args[index].getBytes(StandardCharsets.UTF_8), headers));
    }
}
`,
};

/** The command that runs a program, by file extension. */
const runtimes: Readonly<Record<string, string>> = { mjs: process.execPath, py: "python3", java: "java" };

/** `@posthorn/receiver` with the exports of its package but without a build: each export refers to its source file. */
function layOutKit(folder: string): void {
  const manifest = JSON.parse(readFileSync(join(root, "packages", "receiver", "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  mkdirSync(folder);
  const exported: Record<string, string> = {};
  for (const [at, [name, target]] of Object.entries(manifest.exports).entries()) {
    if (typeof target === "string") continue;
    const source = target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts");
    exported[name] = `./${at}.js`;
    writeFileSync(
      join(folder, `${at}.js`),
      `export * from ${JSON.stringify(pathToFileURL(join(root, source)).href)};\n`,
    );
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", exports: exported }));
}

suite("programs of docs/languages", () => {
  let server: OpenedApi;
  const place = mkdtempSync(join(tmpdir(), "posthorn-languages-"));
  before(async () => {
    server = await openServer();
    const modules = join(place, "node_modules");
    mkdirSync(join(modules, "@posthorn"), { recursive: true });
    symlinkSync(join(root, "node_modules", "standardwebhooks"), join(modules, "standardwebhooks"));
    layOutKit(join(modules, "@posthorn", "receiver"));
  });
  after(async () => {
    await server.close();
    rmSync(place, { recursive: true });
  });

  /** Null if the language is not installed. */
  async function execute(
    t: TestContext,
    { name, code }: Program,
    args: readonly string[],
  ): Promise<string | null> {
    const program = runtimes[name.split(".").at(-1) ?? ""] ?? "";
    // Each program needs its own key, because publishing a different text of the same JSON under the same key is
    // refused.
    writeFileSync(join(place, name), code.replaceAll("order-4711-completed", `order-${name}`));
    try {
      const env = {
        ...process.env,
        POSTHORN_URL: server.baseUrl,
        POSTHORN_KEY: server.adminKey,
        WEBHOOK_SECRET: secret,
        PORT: String(await freePort()),
      };
      const { stdout } = await run(program, [name, ...args], { cwd: place, env });
      return stdout;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ENOENT") throw error;
      t.skip(`no ${program} on the PATH`);
      return null;
    }
  }

  test("each has its name in the first line, and those that are not executed are marked", () => {
    assert.deepEqual(
      programs.filter(({ name }) => name === ""),
      [],
    );
    assert.deepEqual(
      programs.filter(({ isExecuted }) => isExecuted).map(({ name }) => name),
      ["Publish.java", "Verify.java", "publish.mjs", "verify.mjs", "receive.mjs", "publish.py", "verify.py"],
    );
  });

  for (const program of programs.filter(({ isExecuted }) => isExecuted)) {
    const { page, name, code } = program;
    if (/^publish/i.test(name)) {
      test(`${name} of ${page} publishes`, async (t) => {
        const said = await execute(t, program, []);
        if (said !== null) assert.match(said, /^published .*[0-9a-f-]{36}/);
      });
    } else {
      test(`${name} of ${page} accepts signed messages and rejects another body`, async (t) => {
        const driver = drivers[name] ?? "";
        // The driver is inserted before the closing brace of the Java class.
        const whole = name.endsWith(".java") ? code.trimEnd().slice(0, -1) + driver : code + driver;
        const args = [JSON.stringify(signedHeaders()), body, body.replace("4711", "4712")];
        const said = await execute(t, { ...program, code: whole }, args);
        if (said !== null) assert.match(said, /(^|\n)true\nfalse\n$/);
      });
    }
  }
});
