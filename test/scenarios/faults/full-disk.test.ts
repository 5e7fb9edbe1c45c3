import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import type { Receiver } from "../../peers/receiver.ts";
import { SmallDisk } from "../../services/small-disk.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { PosthornProcess, ServeRun } from "../posthorn-process.fixture.ts";
import { seededNumbers } from "../../services/seeded-numbers.fixture.ts";

const fulls = 5;
const publishers = 12;
const seed = Number(process.env["POSTHORN_TEST_SEED"] ?? Date.now() % 1_000_000);
/** Payloads are large, so that the disk fills quickly and the WAL is checkpointed by its thread. */
const filling = "x".repeat(40_000);
const adminKey = "phk_admin_of-the-test-of-full-disks-0123456789";

test(`a full disk, ${fulls} times at a busy moment: the process survives, says why, loses nothing and recovers (seed ${seed})`, {
  timeout: 600_000,
}, async (t) => {
  const disk = await smallDisk(t, { bytes: 160 << 20 });
  if (disk === null) return;
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const posthorn = await startOn(disk);
  t.after(() => posthorn.kill());
  const made = await posthorn.call("POST", "/v1/webhooks", {
    url: receiver.url("/hook"),
    events: ["load.*"],
    signing: { schemes: ["v1"] },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const random = seededNumbers(seed);
  const load = new Load(posthorn);
  t.after(() => load.stop());

  for (let full = 0; full < fulls; full += 1) {
    const acceptedBefore = load.accepted.size;
    await load.until("events are accepted", () => load.accepted.size > acceptedBefore + 50 + random() * 250);
    // Posthorn uses the remaining space itself, for its commits and for the thread that copies them into the database.
    disk.occupy({ leaveBytes: random() * 3_000_000 });
    const refused = await load.until("publishes are refused", () => load.refusal);
    assert.deepEqual(
      { status: refused.status, code: refused.body["code"] },
      { status: 503, code: "unavailable" },
    );
    assert.match(String(refused.body["detail"]), /disk of the database is full.*free some space/i);
    const { status, body } = await load.until("/readyz says why", () => ask(posthorn, "/readyz", isNotReady));
    assert.equal(status, 503);
    const { reasons, details } = body as { reasons: string[]; details: string[] };
    assert.deepEqual(reasons, ["store_unavailable", "disk_full"]);
    assert.match(details.join(), /disk of the database is full.*free some space/i);
    assert.equal((await fetch(`${posthorn.url}/livez`)).status, 200);
    assert.equal((await fetch(`${posthorn.url}/metrics`)).status, 200);
    // Long enough for the checkpoint thread to have tried.
    await load.until("it is refused for a while", () => load.refusals > 100);
    disk.free();
    load.forgetRefusals();
    const then = load.accepted.size;
    await load.until("it goes on by itself", () => load.accepted.size > then + 20);
    await load.until("it is ready again", () => ask(posthorn, "/readyz", ({ status: now }) => now === 200));
  }

  await load.stop();
  await receiver.waitUntil(() => missing(load, receiver).length === 0, 60_000).catch(() => undefined);
  const lost = missing(load, receiver);
  assert.deepEqual(lost.slice(0, 5), [], `${lost.length} of ${load.accepted.size} are missing`);
  t.diagnostic(
    `${load.accepted.size} events accepted, ${load.refusals} refused, ${receiver.requestCount} received`,
  );
  assert.equal(posthorn.hasEnded, false);
  assert.equal(await posthorn.stop(), 0);
});

test("disk space used by the WAL is returned as soon as the database has space for its pages", async (t) => {
  const disk = await smallDisk(t, { bytes: 64 << 20 });
  if (disk === null) return;
  // Only a process in the disk's mount namespace can open a database there.
  const program = `
    import { statSync } from "node:fs";
    import { once } from "node:events";
    const { databaseFile, openSqliteStore } = await import(${JSON.stringify(sourceOf("src/store/sqlite/open.ts"))});
    const { publish, start } = await import(${JSON.stringify(sourceOf("test/conformance/store/scene.fixture.ts"))});
    const dataDir = ${JSON.stringify(join(disk.folder, "data"))};
    const bytes = (ending) => statSync(databaseFile(dataDir) + ending).size;
    const store = await openSqliteStore({ dataDir, now: start, pid: process.pid });
    const tell = (what) => console.log(JSON.stringify({ ...what, wal: bytes("-wal"), database: bytes("") }));
    // Small commits write the same few pages again and again, so the WAL is many times the size of the database.
    while (bytes("-wal") < 12 << 20) await publish(store);
    tell({});
    await once(process.stdin, "data");
    const attempt = () => publish(store).then(() => null, (error) => error.trouble ?? String(error));
    tell({ trouble: await attempt() });
    await once(process.stdin, "data");
    let trouble = await attempt();
    // It looks once a second.
    for (let tries = 0; trouble !== null && tries < 100; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      trouble = await attempt();
    }
    tell({ trouble });
    await store.close();
    process.exit();`;
  const options = ["--conditions=posthorn-source", "--input-type=module", "--eval", program];
  const [command = "", ...args] = disk.command([process.execPath, ...options]);
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value ?? "null") as FileSizes | null;
  const before = await next();
  assert.ok(before !== null && before.database < before.wal / 2, JSON.stringify(before));
  disk.occupy();
  child.stdin.write("full\n");
  assert.equal((await next())?.trouble, "disk_full");
  // Less space than a server requires before it accepts events again, but enough to copy the WAL's pages into the
  // database.
  disk.free();
  disk.occupy({ leaveBytes: 2 << 20 });
  child.stdin.write("freed\n");
  const after = await next();
  assert.equal(after?.trouble, null, "it accepts again");
  assert.ok(after.wal < 1 << 20, `the WAL has ${after.wal} bytes, and had ${before.wal}`);
});

interface FileSizes {
  readonly trouble?: string | null;
  /** In bytes. */
  readonly wal: number;
  readonly database: number;
}

const sourceOf = (path: string): string => join(import.meta.dirname, "../../..", path);

test("a start on a full disk ends with one sentence and status 1", async (t) => {
  const disk = await smallDisk(t, { bytes: 4 << 20 });
  if (disk === null) return;
  const startsBadly = async () => {
    const run = new ServeRun(settingsOn(disk), (command) => disk.command(command));
    t.after(() => run.end("SIGKILL"));
    await run.ended;
    assert.equal(await run.end("SIGKILL"), 1, run.output);
    return run.output;
  };
  disk.occupy();
  const first = await startsBadly();
  assert.match(first, /disk.* is full|no space left/i);
  assert.doesNotMatch(first, /^\s+at /m);
  disk.free();
  const posthorn = await startOn(disk);
  await posthorn.kill();
  disk.occupy();
  const second = await startsBadly();
  assert.match(second, /cannot start: .*disk.* is full/i);
  assert.doesNotMatch(second, /^\s+at /m);
});

async function smallDisk(t: TestContext, size: { readonly bytes: number }): Promise<SmallDisk | null> {
  const disk = await SmallDisk.make(size);
  if (typeof disk === "string") {
    t.skip(disk);
    return null;
  }
  t.after(() => disk.remove());
  return disk;
}

function settingsOn(disk: SmallDisk): Record<string, string> {
  return {
    POSTHORN_DEV: "true",
    POSTHORN_PORT: "0",
    POSTHORN_DATA_DIR: join(disk.folder, "data"),
    POSTHORN_ADMIN_KEY: adminKey,
  };
}

/** The process's log is on the same disk. */
function startOn(disk: SmallDisk): Promise<PosthornProcess> {
  const logged = ["sh", "-c", 'exec "$@" 2>>"$LOG_FILE"', "sh"];
  return PosthornProcess.start({
    dataDir: join(disk.folder, "data"),
    env: { POSTHORN_ADMIN_KEY: adminKey, LOG_FILE: join(disk.folder, "log") },
    wrap: (command) => disk.command([...logged, ...command]),
  });
}

interface Told {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

function isNotReady({ status }: Told): boolean {
  return status !== 200;
}

async function ask(
  posthorn: PosthornProcess,
  path: string,
  holds: (told: Told) => boolean,
): Promise<Told | null> {
  const response = await fetch(posthorn.url + path);
  const told = { status: response.status, body: (await response.json()) as Record<string, unknown> };
  return holds(told) ? told : null;
}

/** Publishes the next event as soon as a response arrives. Records the results in the ledger. */
class Load {
  readonly accepted = new Set<string>();
  refusal: Told | null = null;
  refusals = 0;
  readonly #posthorn: PosthornProcess;
  readonly #running: readonly Promise<void>[];
  #stopped = false;

  constructor(posthorn: PosthornProcess) {
    this.#posthorn = posthorn;
    this.#running = Array.from({ length: publishers }, (_, index) => this.#publish(index));
  }

  forgetRefusals(): void {
    this.refusal = null;
  }

  /** Repeats the query and returns its first result that is not null. Fails immediately if the process exits. */
  until<T>(what: string, question: () => T | Promise<T>): Promise<NonNullable<Exclude<T, false>>> {
    return eventually(what, {
      ask: async () => {
        assert.equal(this.#posthorn.hasEnded, false, `posthorn has ended: ${this.#posthorn.output}`);
        return question();
      },
      holds: (answer) => answer !== null && answer !== false,
    }) as Promise<NonNullable<Exclude<T, false>>>;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async #publish(index: number): Promise<void> {
    while (!this.#stopped && !this.#posthorn.hasEnded) {
      const told = await this.#publishOne(`load.n${index}`);
      if (told === null) continue;
      if (told.status === 202) this.accepted.add(String(told.body["id"]));
      else {
        this.refusals += 1;
        this.refusal ??= told;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async #publishOne(eventType: string): Promise<Told | null> {
    try {
      const response = await fetch(`${this.#posthorn.url}/v1/events`, {
        method: "POST",
        headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
        body: JSON.stringify({ event_type: eventType, data: { filling } }),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    } catch {
      return null;
    }
  }
}

function missing(load: Load, receiver: Receiver): readonly string[] {
  const received = new Set(receiver.requests.map(({ headers }) => String(headers["webhook-id"])));
  return [...load.accepted].filter((id) => !received.has(id));
}
