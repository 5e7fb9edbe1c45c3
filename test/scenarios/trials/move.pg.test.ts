// A folder with many events is moved while it is served, and the move is killed twice. The receivers record what
// arrives. The same folder is then moved again, to a different database and without a server.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { reopenMoved } from "../../../src/app/move/move-plan.ts";
import { openPosthorn, type PublishInput } from "../../../src/app/library.ts";
import { createTestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { type Receiver, startReceiver } from "../../peers/receiver.ts";
import { agreeable } from "../api/agreeable-transport.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { startPosthorn } from "../../../src/app/posthorn.ts";
import { resolveValues } from "../../../src/config/resolve.ts";
import type { Transport } from "../../../src/ports/transport.ts";
import { programEntry } from "../../services/program.fixture.ts";

const events = Number(process.env["POSTHORN_TEST_MOVED_EVENTS"] ?? 1_000_000);
const waiting = Math.ceil(events / 20);
const batch = 1_000;

test(`${events} events move, ${waiting} of them waiting; the move is killed twice`, async (t) => {
  const [database, receiver] = [await createTestDatabase(), await startReceiver({ record: false })];
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-move-trial-"));
  t.after(async () => {
    await receiver.close();
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const ledger = new Ledger(receiver);
  const held = await addWebhooks(receiver, dataDir);
  await deliverInProcess(events - waiting, dataDir);
  const folder = await openPosthorn({ dataDir, dev: true, logLevel: "error", concurrency: 200 });
  t.after(() => folder.close());
  await publish((batch) => folder.publishMany(batch), { type: "order.shipped", count: waiting });

  for (const part of ["events", "attempts"]) await killedHalfway(part, { dataDir, to: database.url });
  const whole = new Move({ dataDir, to: database.url });
  await whole.until(({ kind }) => kind === "ready");
  await folder.close();
  const report = await whole.report();
  t.diagnostic(`while served: ${JSON.stringify({ ...report, parts: undefined })}`);

  const masterKey = readFileSync(join(dataDir, "master.key"), "utf8").trim();
  const moved = await openPosthorn({
    databaseUrl: database.url,
    masterKey,
    adminKey: "k".repeat(40),
    dev: true,
    logLevel: "error",
    concurrency: 200,
  });
  t.after(() => moved.close());
  for (const id of held) await moved.webhooks.circuit({ id, action: "force_close" });
  await receiver.waitUntil(
    () => ledger.countOf("/ordered") >= waiting && ledger.countOf("/any") >= waiting,
    1_800_000,
  );
  assert.deepEqual(ledger.missing("/ordered", waiting), []);
  assert.deepEqual(ledger.missing("/any", waiting), []);
  assert.equal(ledger.outOfOrder("/ordered"), 0);
  assert.equal(ledger.countOf("/fine"), 0, "what was delivered does not come again");
  assert.equal(ledger.repeated, 0, "nothing was on its way when the folder was closed");
  await moved.close();

  const other = await createTestDatabase();
  t.after(() => other.drop());
  await reopenMoved({ from: dataDir, settings: { masterKey: null, masterKeyPrevious: [] } });
  for (const part of ["events", "attempts"]) await killedHalfway(part, { dataDir, to: other.url });
  const [startedAt, offline] = [performance.now(), new Move({ dataDir, to: other.url })];
  const again = await offline.report();
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  t.diagnostic(`with nobody serving, after two kills: ${seconds} s`);
  assert.deepEqual(rowsOf(again), rowsOf(report));
});

/** Requests received at each path, by the number of their event. */
class Ledger {
  readonly #got = new Map<string, number[]>();
  readonly #seen = new Set<string>();
  repeated = 0;

  constructor(receiver: Receiver) {
    receiver.script(({ path, text }) => {
      const { data } = JSON.parse(text) as { data: { n: number } };
      const key = `${path} ${data.n}`;
      if (this.#seen.has(key)) this.repeated += 1;
      this.#seen.add(key);
      const got = this.#got.get(path) ?? [];
      got.push(data.n);
      this.#got.set(path, got);
      return { status: 200 };
    });
  }

  countOf(path: string): number {
    return this.#got.get(path)?.length ?? 0;
  }

  missing(path: string, count: number): readonly number[] {
    return Array.from({ length: count }, (_, n) => n).filter((n) => !this.#seen.has(`${path} ${n}`));
  }

  outOfOrder(path: string): number {
    const got = this.#got.get(path) ?? [];
    return got.filter((n, place) => place > 0 && n < (got[place - 1] ?? 0)).length;
  }
}

/**
 * Three webhooks. One receives everything immediately. The circuits of the other two are open; one of them is ordered
 * and one is not.
 */
async function addWebhooks(receiver: Receiver, dataDir: string): Promise<readonly string[]> {
  const posthorn = await openPosthorn({ dataDir, dev: true, logLevel: "error" });
  const fine = { url: receiver.url("/fine"), events: ["order.paid"] };
  await posthorn.webhooks.create(fine);
  const held: string[] = [];
  for (const [path, ordering] of [
    ["/ordered", "strict"],
    ["/any", "none"],
  ] as const) {
    const { view } = await posthorn.webhooks.create({
      url: receiver.url(path),
      events: ["order.shipped"],
      ordering,
    });
    await posthorn.webhooks.circuit({ id: view.webhook.id, action: "force_open" });
    held.push(view.webhook.id);
  }
  await posthorn.close();
  return held;
}

/** Creates a history of accepted events without using a socket. None of them may be sent again. */
async function deliverInProcess(count: number, dataDir: string): Promise<void> {
  let sent = 0;
  const transport: Transport = {
    ...agreeable,
    send: (request) => {
      sent += 1;
      return agreeable.send(request);
    },
  };
  const resolution = resolveValues({ dataDir, dev: true, logLevel: "error", concurrency: 200 });
  assert.equal(resolution.kind, "resolved");
  const { services, stop } = await startPosthorn(resolution.settings, { transport, listens: false });
  await publish((batch) => services.events.publishMany({ tenantId: null }, batch), {
    type: "order.paid",
    count,
  });
  await eventually("all are delivered", {
    ask: async () => sent,
    holds: (requests) => requests >= count,
    withinMs: 3_600_000,
  });
  await stop();
}

async function publish(
  publishMany: (batch: readonly PublishInput[]) => Promise<readonly { readonly kind: string }[]>,
  { type, count }: { readonly type: string; readonly count: number },
): Promise<void> {
  for (let first = 0; first < count; first += batch) {
    const size = Math.min(batch, count - first);
    const entries = await publishMany(
      Array.from({ length: size }, (_, place) => ({ eventType: type, data: { n: first + place } })),
    );
    assert.ok(entries.every(({ kind }) => kind === "published"));
  }
}

/** Runs `posthorn move` in a separate process. */
class Move {
  readonly #child;
  readonly #news: Record<string, unknown>[] = [];
  readonly #lines;

  constructor({ dataDir, to }: { readonly dataDir: string; readonly to: string }) {
    this.#child = spawn(process.execPath, [programEntry, "move", "--from", dataDir, "--to", to, "--json"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async until(holds: (news: Record<string, unknown>) => boolean): Promise<void> {
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done === true) throw new Error(`the move ended too early: ${JSON.stringify(this.#news.at(-1))}`);
      const news = JSON.parse(value) as Record<string, unknown>;
      this.#news.push(news);
      if (holds(news)) return;
    }
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }

  async report(): Promise<Record<string, unknown>> {
    await this.until((news) => "moved_to" in news);
    if (this.#child.exitCode === null) await once(this.#child, "exit");
    assert.equal(this.#child.exitCode, 0);
    return this.#news.at(-1) ?? {};
  }
}

async function killedHalfway(
  part: string,
  ends: { readonly dataDir: string; readonly to: string },
): Promise<void> {
  const move = new Move(ends);
  await move.until(
    (news) => news["kind"] === "progress" && news["part"] === part && Number(news["rows"]) >= events / 2,
  );
  await move.kill();
}

function rowsOf(report: Record<string, unknown>): ReadonlyMap<string, number> {
  const parts = report["parts"] as readonly { readonly part: string; readonly rows: number }[];
  return new Map(parts.map(({ part, rows }) => [part, rows]));
}
