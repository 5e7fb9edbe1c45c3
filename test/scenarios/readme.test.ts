/** Commands in README.md and on other pages are executed word for word in an empty folder. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { suite, test } from "node:test";

const root = resolve(import.meta.dirname, "../..");

suite("commands on the pages", () => {
  test("README: start, receive, publish, create a webhook, list deliveries", async () => {
    await using place = await Place.make();
    const [
      start = "",
      subscribed = "",
      publish = "",
      demo = "",
      listen = "",
      curl = "",
      commands = "",
      ...more
    ] = place.blocks("README.md", "sh");
    assert.deepEqual(more, [], "a new block needs a line in this test");
    assert.equal(demo, "npm run demo\n");
    const server = place.run(start);
    await server.until(/Stop with Ctrl-C/);
    const subscriber = place.run(subscribed);
    await subscriber.until(/registered webhook/);
    const published = await place.run(publish).toEnd();
    assert.match(published.stdout, /deliveries +1/);
    await subscriber.until(/order\.completed .*responded with 204/);
    await subscriber.stop();
    const receiver = place.run(listen);
    await receiver.until(/listening on/);
    const curled = await place.run(curl).toEnd();
    const responses = curled.stdout
      .replaceAll("}{", "}\n{")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.match(String(responses[0]?.["secret"]), /^whsec_/);
    const [delivery] = (responses[1]?.["data"] ?? []) as readonly Record<string, unknown>[];
    const output = `${curled.stdout}\n${server.stdout}${server.stderr}`;
    assert.equal(delivery?.["event_type"], "order.completed", output);
    await receiver.until(
      new RegExp(`order\\.completed +${String(delivery["event_id"])} .*responded with 204`),
    );
    const listed = await place.run(commands).toEnd();
    assert.match(listed.stdout, /order\.completed[^]*order\.completed/);
    assert.match(listed.stdout, /healthy +.*order\.\*/);
  });

  test("README and the library page: Posthorn inside a Node program", async () => {
    await using place = await Place.make();
    const [short = ""] = place.blocks("README.md", "js");
    await place.program(short);
    const [long = ""] = place.blocks("docs/library.md", "js");
    const { stdout } = await place.program(long);
    assert.match(
      stdout,
      /stored, for 1 webhook\npublished before, as the same event\nthe delivery is for our webhook\n/,
    );
  });

  test("the receiver of the signatures page verifies what Posthorn sends", async () => {
    await using place = await Place.make();
    const server = place.run("npm start\n");
    await server.until(/Stop with Ctrl-C/);
    const created = await place
      .run(
        `npm run --silent posthorn -- webhooks create http://127.0.0.1:${place.receiverPort}/ --events 'order.*' --json\n`,
      )
      .toEnd();
    const { secret } = JSON.parse(created.stdout) as { readonly secret: string };
    const [receiverSource = ""] = place.blocks("docs/signatures-and-rotation.md", "js");
    writeFileSync(join(place.path, "receiver.mjs"), receiverSource);
    const receiver = place.run(`WEBHOOK_SECRET='${secret}' node receiver.mjs\n`);
    await receiver.untilListening(place.receiverPort);
    await place.run("npm run --silent posthorn -- publish order.completed\n").toEnd();
    await receiver.until(/[0-9a-f-]{36} order\.completed/);
  });
});

interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/** An empty folder in which npm scripts work as in the repository, with unused ports. */
class Place implements AsyncDisposable {
  readonly path = mkdtempSync(join(tmpdir(), "posthorn-readme-"));
  readonly receiverPort: number;
  readonly #port: number;
  readonly #running: Shell[] = [];

  private constructor(ports: { readonly server: number; readonly receiver: number }) {
    this.#port = ports.server;
    this.receiverPort = ports.receiver;
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const inRoot = Object.entries(scripts).map(([name, script]) => [
      name,
      script.replaceAll(/(?<= )(scripts|src)\//g, `${root}/$1/`),
    ]);
    writeFileSync(
      join(this.path, "package.json"),
      JSON.stringify({ type: "module", scripts: Object.fromEntries(inRoot) }),
    );
    symlinkSync(join(root, "node_modules"), join(this.path, "node_modules"));
  }

  static async make(): Promise<Place> {
    return new Place({ server: await freePort(), receiver: await freePort() });
  }

  /** The code blocks of a page in order. Only the ports are changed. */
  blocks(page: string, language: string): readonly string[] {
    const text = readFileSync(join(root, page), "utf8");
    return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "gm"))].map(([, code = ""]) =>
      code.replaceAll("8080", String(this.#port)).replaceAll("4000", String(this.receiverPort)),
    );
  }

  run(script: string): Shell {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !name.startsWith("POSTHORN_") && !name.startsWith("npm_"),
    );
    const shell = new Shell(
      spawn("bash", ["-e", "-c", script], {
        cwd: this.path,
        env: { ...Object.fromEntries(inherited), POSTHORN_PORT: String(this.#port) },
        stdio: ["ignore", "pipe", "pipe"],
        // Runs in a separate process group, so that npm and its children can be ended together.
        detached: true,
      }),
    );
    this.#running.push(shell);
    return shell;
  }

  /** Runs a module that imports the package by its name. */
  async program(source: string): Promise<Output> {
    const library = JSON.stringify(join(root, "src/app/library.ts"));
    writeFileSync(join(this.path, "program.mjs"), source.replaceAll('"posthorn"', library));
    return this.run(`${JSON.stringify(process.execPath)} program.mjs\n`).toEnd();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const shell of this.#running.toReversed()) await shell.stop();
    rmSync(this.path, { recursive: true, force: true });
  }
}

class Shell {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  stdout = "";
  stderr = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#closed = once(child, "close");
    child.stdout?.on("data", (chunk: Buffer) => (this.stdout += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (this.stderr += chunk.toString()));
  }

  async until(pattern: RegExp): Promise<void> {
    await this.#poll(() => pattern.test(this.stdout + this.stderr), String(pattern));
  }

  async untilListening(port: number): Promise<void> {
    let isListening = false;
    await this.#poll(() => {
      void fetch(`http://127.0.0.1:${port}/`).then(
        () => (isListening = true),
        () => {},
      );
      return isListening;
    }, `a listener on port ${port}`);
  }

  async toEnd(): Promise<Output> {
    await this.#closed;
    assert.equal(this.#child.exitCode, 0, this.stderr);
    return { stdout: this.stdout, stderr: this.stderr };
  }

  async stop(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, "SIGTERM");
    await this.#closed;
  }

  async #poll(isThere: () => boolean, what: string): Promise<void> {
    const endsAt = performance.now() + 240_000;
    while (!isThere()) {
      const failed = this.#child.exitCode !== null || performance.now() > endsAt;
      if (failed) assert.fail(`${what} did not appear in:\n${this.stdout}\n${this.stderr}`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
