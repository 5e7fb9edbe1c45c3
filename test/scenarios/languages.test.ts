/** The programs of docs/languages run as they stand there but for their keys, where their language is; every other one says that it was not run. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { root } from "../packages/built-package.ts";
import type { OpenedApi } from "./api/client.ts";
import { openServer } from "./api/running-server.ts";

const run = promisify(execFile);
const pages = join(root, "docs", "languages");

interface Program {
  readonly page: string;
  readonly name: string;
  readonly code: string;
  readonly isExecuted: boolean;
}

const programs = readdirSync(pages).flatMap((page): Program[] => {
  const blocks = readFileSync(join(pages, page), "utf8").matchAll(
    /(<!-- not executed: .+ -->\n)?^```\w+\n([^]*?)^```$/gm,
  );
  return [...blocks].map(([, mark, code = ""]) => ({
    page,
    name: /^(?:<\?php )?(?:\/\/|#) ([\w.]+)/.exec(code)?.[1] ?? "",
    code,
    isExecuted: mark === undefined,
  }));
});

const key = Buffer.alloc(32, 7);
const secret = `whsec_${key.toString("base64")}`;
const body = '{"type":"order.completed","timestamp":"2026-01-31T09:30:00Z","data":{"order_id":"4711"}}';

function signedHeaders(): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const mac = createHmac("sha256", key).update(`msg_1.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": `v1,AAAA v1,${mac}` };
}

/** Prints `true` for the message and `false` for another body under its signature. */
const drivers: Readonly<Record<string, string>> = {
  "verify.mjs": `
const [, , signed, ...bodies] = process.argv;
for (const text of bodies) {
  try { verify(text, JSON.parse(signed)); console.log("true"); } catch { console.log("false"); }
}
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

/** With what a program is run, by the end of its name. */
const runtimes: Readonly<Record<string, string>> = { mjs: process.execPath, py: "python3", java: "java" };

suite("programs of docs/languages", () => {
  let server: OpenedApi;
  const place = mkdtempSync(join(tmpdir(), "posthorn-languages-"));
  before(async () => {
    server = await openServer();
    symlinkSync(join(root, "node_modules"), join(place, "node_modules"));
  });
  after(async () => {
    await server.close();
    rmSync(place, { recursive: true });
  });

  /** Null where the language is not on this machine. */
  async function execute(
    t: TestContext,
    { name, code }: Program,
    args: readonly string[],
  ): Promise<string | null> {
    const program = runtimes[name.split(".").at(-1) ?? ""] ?? "";
    // With one key another text of the same JSON is another request.
    writeFileSync(join(place, name), code.replaceAll("order-4711-completed", `order-${name}`));
    try {
      const env = {
        ...process.env,
        POSTHORN_URL: server.baseUrl,
        POSTHORN_KEY: server.adminKey,
        WEBHOOK_SECRET: secret,
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
      ["Publish.java", "Verify.java", "publish.mjs", "verify.mjs", "publish.py", "verify.py"],
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
      test(`${name} of ${page} takes what is signed and refuses another body`, async (t) => {
        const driver = drivers[name] ?? "";
        // A class ends with a brace, before which the driver belongs.
        const whole = name.endsWith(".java") ? code.trimEnd().slice(0, -1) + driver : code + driver;
        const args = [JSON.stringify(signedHeaders()), body, body.replace("4711", "4712")];
        const said = await execute(t, { ...program, code: whole }, args);
        if (said !== null) assert.equal(said, "true\nfalse\n");
      });
    }
  }
});
