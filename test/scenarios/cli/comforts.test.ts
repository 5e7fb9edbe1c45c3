/** Conveniences of the CLI: types, examples, live deliveries, profiles, fields, and a stable secret. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, suite, test, type TestContext } from "node:test";
import { createClient } from "../../../src/client/index.ts";
import { PosthornProcess } from "../posthorn-process.fixture.ts";
import { posthorn, posthornHere, RunningCommand, temporaryFolder } from "./command-line.fixture.ts";

const root = resolve(import.meta.dirname, "../../..");

suite("conveniences of the command line", () => {
  let server: PosthornProcess;
  let env: Record<string, string>;
  before(async () => {
    server = await PosthornProcess.start();
    env = { POSTHORN_URL: server.url, POSTHORN_KEY: server.adminKey };
    const client = createClient({ url: server.url, key: server.adminKey });
    const address = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const schema = {
      type: "object",
      properties: {
        order_id: { type: "string" },
        cents: { type: "integer", minimum: 1 },
        to: { $ref: "#/$defs/address" },
      },
      required: ["order_id"],
      additionalProperties: false,
      $defs: { address },
    };
    await client.eventTypes.put("order.completed", { description: "An order is complete.", schema });
    const examples = [{ order_id: "4711" }, { order_id: "4712" }];
    await client.eventTypes.put("order.shown", { description: "Has examples.", examples });
  });
  after(() => server.remove());

  const run = async (...args: readonly string[]) => {
    const { status, stdout, stderr } = await posthornHere(args, { env });
    assert.equal(status, 0, stderr);
    return { stdout, stderr };
  };

  /** Processes that are stopped at the end of the test. */
  const running = (t: TestContext, args: readonly string[], more: Record<string, string> = {}) => {
    const command = new RunningCommand(args, { env: { ...env, ...more } });
    t.after(() => command.stop());
    return command;
  };

  test("types writes code that compiles, and the client rejects data that does not fit", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "events.ts");
    await run("types", "--out", file);
    await run("types", "--out", file, "--check");
    writeFileSync(
      join(folder.path, "use.ts"),
      `import { createClient } from "${root}/src/client/index.ts";
import type { Events, WebhookMessage } from "./events.ts";
const client = createClient<Events>({ url: "http://a", key: "" });
void client.publish({ event_type: "order.completed", data: { order_id: "1", to: { city: "Wien" } } });
// @ts-expect-error no order_id
void client.publish({ event_type: "order.completed", data: { cents: 5 } });
// @ts-expect-error no such member
void client.publish({ event_type: "order.completed", data: { order_id: "1", colour: "red" } });
// @ts-expect-error no such type
void client.publish({ event_type: "order.unknown", data: {} });
export function receive(message: WebhookMessage): string {
  return message.type === "order.completed" ? message.data.order_id : message.type;
}
`,
    );
    symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      module: "nodenext",
      target: "es2023",
      types: ["node"],
    };
    const project = {
      compilerOptions: { ...compilerOptions, allowImportingTsExtensions: true },
      files: ["use.ts"],
    };
    writeFileSync(join(folder.path, "tsconfig.json"), JSON.stringify(project));
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
    const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", folder.path], {
      encoding: "utf8",
    });
    assert.equal(status, 0, stdout);
    writeFileSync(file, "");
    const stale = await posthornHere(["types", "--out", file, "--check"], { env });
    assert.equal(stale.status, 1);
    assert.match(stale.stderr, /is not up to date/);
  });

  test("types writes the documents for receivers too", async () => {
    const openapi = JSON.parse((await run("types", "--format", "openapi")).stdout) as { webhooks: object };
    assert.ok(Object.keys(openapi.webhooks).length > 0);
    const asyncapi = JSON.parse((await run("types", "--format", "asyncapi")).stdout) as { asyncapi: string };
    assert.equal(asyncapi.asyncapi, "3.0.0");
    assert.equal((await posthornHere(["types", "--format", "java"], { env })).status, 2);
  });

  test("trigger publishes an example that the schema accepts, with the given values", async () => {
    const { stdout } = await run(
      "trigger",
      "order.completed",
      "--set",
      "cents=5",
      "--set",
      "to.city=Graz",
      "--json",
    );
    const { id } = JSON.parse(stdout) as { id: string };
    const client = createClient({ url: server.url, key: server.adminKey });
    const { data } = await client.events.get(id);
    assert.deepEqual(data, { order_id: "text", cents: 5, to: { city: "Graz" } });
    const second = await run("trigger", "order.shown", "--example", "2", "--print-only", "--json");
    assert.deepEqual(JSON.parse(second.stdout), { order_id: "4712" });
    const unknown = await run("trigger", "not.registered", "--print-only", "--json");
    assert.deepEqual(JSON.parse(unknown.stdout), { test: true });
    assert.equal((await posthornHere(["trigger", "order.shown", "--example", "3"], { env })).status, 2);
  });

  test("fields select what is shown, for rows and for one resource", async () => {
    const { stdout } = await run("event-types", "list", "--fields", "name,deprecated", "--json");
    assert.deepEqual(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
      [
        { name: "order.completed", deprecated: false },
        { name: "order.shown", deprecated: false },
      ],
    );
    const table = await run("event-types", "list", "--fields", "name");
    assert.equal(table.stdout, "name\norder.completed\norder.shown\n");
  });

  test("watch prints again until it is stopped", async (t) => {
    const command = running(t, ["event-types", "list", "--fields", "name", "--watch", "0.2"]);
    await command.until(/order\.shown[^]*order\.shown/);
    const { status } = await command.stop("SIGINT");
    assert.equal(status, 0);
    const { status: usage } = await posthornHere(["event-types", "list", "--watch", "0"], { env });
    assert.equal(usage, 2);
  });

  test("tail prints matching deliveries while they happen", async (t) => {
    const listener = running(t, ["listen", "--register", "tailed.*,other.*"]);
    await listener.until(/registered webhook/);
    const tail = running(t, ["tail", "--type", "tailed.*", "--status", "success", "--json"]);
    await tail.until(/waiting for deliveries/);
    await run("publish", "other.one");
    // The stream may open shortly after the message. Events published in between are not reported.
    let said = "";
    for (let tries = 0; !said.includes("tailed.one") && tries < 200; tries += 1) {
      await run("publish", "tailed.one");
      await new Promise((done) => setTimeout(done, 100));
      said = tail.stdout;
    }
    await tail.stop("SIGINT");
    const rows = tail.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { event_type: string; status: string });
    assert.ok(rows.length > 0);
    assert.deepEqual(
      new Set(rows.map((row) => `${row.event_type} ${row.status}`)),
      new Set(["tailed.one success"]),
    );
  });

  test("a login is stored in a file of its owner, and profiles choose the server", async () => {
    using folder = temporaryFolder();
    const own = { XDG_CONFIG_HOME: folder.path };
    const wrong = await posthornHere(["login", "--url", server.url, "--key", "phk_wrong"], { env: own });
    assert.equal(wrong.status, 1);
    const login = await posthornHere(["login", "shop", "--url", server.url], {
      env: own,
      input: `${server.adminKey}\n`,
    });
    assert.equal(login.status, 0, login.stderr);
    const file = join(folder.path, "posthorn", "profiles.json");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(login.stdout, `shop: ${server.url}/ as admin\n`);
    const listed = await posthornHere(["profiles", "--json"], { env: own });
    assert.deepEqual(JSON.parse(listed.stdout), { name: "shop", url: `${server.url}/` });
    for (const [args, more] of [
      [["event-types", "list", "--profile", "shop"], {}],
      [["--profile", "shop", "event-types", "list"], {}],
      [["event-types", "list"], { POSTHORN_PROFILE: "shop" }],
    ] as const) {
      const { stdout, stderr } = await posthornHere(args, { env: { ...own, ...more } });
      assert.match(stdout, /order\.completed/, stderr);
    }
    const unknown = await posthornHere(["events", "list", "--profile", "nobody"], { env: own });
    assert.match(unknown.stderr, /profile "nobody" does not exist\nAvailable profiles: shop/);
    // A profile's key must be sent only to that profile's server.
    const elsewhere = await posthornHere(
      ["events", "list", "--profile", "shop", "--url", "https://a.example"],
      { env: own },
    );
    assert.match(elsewhere.stderr, /https:\/\/a\.example requires an API key/);
    assert.equal((await posthornHere(["logout", "shop"], { env: own })).status, 0);
    assert.equal(readFileSync(file, "utf8"), "{}\n");
  });

  test("listen reuses its secret between runs, replays, and prints headers and payload", async (t) => {
    using folder = temporaryFolder();
    const own = { XDG_CONFIG_HOME: folder.path };
    const secret = /POSTHORN_WEBHOOK_SECRET=(whsec_\S+)\n/;
    const first = running(t, ["listen", "--register", "replayed.*"], own);
    const [, before_ = ""] = await first.until(secret);
    await first.stop("SIGINT");
    await run("publish", "replayed.one", '{"n":12345678901234567890}');
    const second = running(
      t,
      ["listen", "--register", "replayed.*", "--replay", "5", "--print", "headers,payload"],
      own,
    );
    const [, again = ""] = await second.until(secret);
    assert.equal(again, before_);
    await second.until(/replayed\.one.*verified v1.*\n[^]*webhook-signature: [^]*12345678901234567890/);
    // A second listener cannot use the secret at the same time, and reports that.
    const third = running(t, ["listen", "--register", "replayed.*", "--print", "json"], own);
    const [, other = ""] = await third.until(
      /POSTHORN_WEBHOOK_SECRET=(whsec_\S+)  \(changes on the next run\)\n/,
    );
    assert.notEqual(other, again);
    await run("publish", "replayed.two", "{}");
    const [line] = await third.until(/\{"time".*"method":"POST".*\}\n/);
    const printed = JSON.parse(line) as { headers: Record<string, string>; payload: string };
    assert.match(printed.headers["webhook-id"] ?? "", /^[0-9a-f-]{36}$/);
    assert.equal((JSON.parse(printed.payload) as { type: string }).type, "replayed.two");
    assert.equal(statSync(join(folder.path, "posthorn", "listen.json")).mode & 0o777, 0o600);
  });

  test("a real bash completes commands, options, values and command names after options", async () => {
    const { stdout: script } = await posthorn(["completion", "bash"]);
    const complete = (...words: readonly string[]): readonly string[] => {
      const program = `${script}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _posthorn; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const args = ["--norc", "--noprofile", "-c", program, "bash", "posthorn", ...words];
      return execFileSync("bash", args, { encoding: "utf8" }).trim().split("\n");
    };
    assert.deepEqual(complete("web"), ["webhooks"]);
    assert.ok(complete("webhooks", "").includes("create"));
    assert.deepEqual(complete("--profile", "create", "webhooks", "list", "--limi"), ["--limit"]);
    assert.deepEqual(complete("publish", "order.completed", "--prior"), ["--priority"]);
    assert.deepEqual(complete("publish", "order.completed", "--priority", ""), ["high", "normal", "low"]);
    assert.deepEqual(complete("completion", "b"), ["bash"]);
  });

  test("fish completes commands, options and values", async (t) => {
    if (!isInstalled("fish")) return t.skip("no fish on the PATH");
    using folder = temporaryFolder();
    const script = join(folder.path, "posthorn.fish");
    writeFileSync(script, (await posthornHere(["completion", "fish"])).stdout);
    const lines = [
      "posthorn web",
      "posthorn webhooks rot",
      "posthorn --profile create webhooks list --limi",
      "posthorn publish order.completed --priority ",
      "posthorn completion b",
    ];
    const program = `source ${script}; ${lines.map((line) => `complete -C '${line}'`).join("; ")}`;
    // Fish stores its state in the home directory.
    const env = { ...process.env, HOME: folder.path };
    const { stdout, stderr } = spawnSync("fish", ["--no-config", "-c", program], { env, encoding: "utf8" });
    assert.equal(stderr, "");
    const words = stdout
      .trim()
      .split("\n")
      .map((line) => line.split("\t")[0]);
    assert.deepEqual(words, ["webhooks", "rotate", "--limit", "high", "low", "normal", "bash"]);
  });

  test("zsh completes commands, options and values in an interactive shell", async (t) => {
    if (!isInstalled("zsh")) return t.skip("no zsh on the PATH");
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "_posthorn"), (await posthornHere(["completion", "zsh"])).stdout);
    const lines = [
      ["posthorn webh", " rot", ""],
      ["posthorn webhooks list --limi", ""],
      ["posthorn publish order.completed --priority hi", ""],
      ["posthorn completion ba", ""],
    ].map((typed) => typed.join("\t"));
    const { stdout, stderr } = spawnSync("zsh", ["-f", "-c", typedIntoZsh, "zsh", folder.path, ...lines], {
      encoding: "utf8",
    });
    assert.equal(stderr, "");
    assert.deepEqual(stdout.trim().split("\n"), [
      "<posthorn webhooks rotate>",
      "<posthorn webhooks list --limit>",
      "<posthorn publish order.completed --priority high>",
      "<posthorn completion bash>",
    ]);
  });
});

function isInstalled(shell: string): boolean {
  return spawnSync(shell, ["--version"]).status === 0;
}

/** Types each line into an interactive zsh and then presses Ctrl+T, which records the completed line. */
const typedIntoZsh = `
zmodload zsh/zpty
zpty typed zsh -f -i
said() { local out; zpty -r typed out "*$1*"; print -r -- "$out"; }
zpty -w typed 'PS1=""; unsetopt prompt_sp; fpath=('$1' $fpath); autoload -Uz compinit; compinit -u -D
bindkey "^I" complete-word
told() { print -r -- "<\${\${BUFFER}%% }>" >> '$1'/said; zle kill-whole-line; }; zle -N told; bindkey "^T" told; echo re''ady'
said ready >/dev/null
for line in "\${@[2,-1]}"; do zpty -w -n typed "$line"$'\\C-t'; done
zpty -w typed 'echo en''ded'
said ended >/dev/null
zpty -d typed
cat $1/said
`;
