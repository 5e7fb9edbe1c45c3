/** `posthorn move`: everything in a data folder continues unchanged on PostgreSQL. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, suite, test } from "node:test";
import { planMove, reopenMoved, runMove } from "../../../src/app/move/move-plan.ts";
import type { MoveNews } from "../../../src/app/move/move-store.ts";
import { openPosthorn, type Posthorn } from "../../../src/app/library.ts";
import { createTestDatabase, type TestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { type Receiver, startReceiver } from "../../peers/receiver.ts";
import { eventually } from "../eventually.fixture.ts";

const ordered = 12;
/** Number of the event whose delivery was cancelled and retried. */
const retried = 3;
/** The master key is stored in the folder. */
const ofTheFolder = { masterKey: null, masterKeyPrevious: [] };

suite("move to PostgreSQL and back", () => {
  let database: TestDatabase;
  let receiver: Receiver;
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-move-"));
  const backDir = mkdtempSync(join(tmpdir(), "posthorn-back-"));
  before(async () => {
    [database, receiver] = await Promise.all([createTestDatabase(), startReceiver()]);
  });
  after(async () => {
    await receiver.close();
    await database.drop();
    for (const dir of [dataDir, backDir]) rmSync(dir, { recursive: true, force: true });
  });

  test("history, waiting events in order, circuits, keys and secrets are kept", async (t) => {
    receiver.script(({ path }) => ({
      status: { "/down": 503, "/refuses": 422 }[path] ?? 200,
      body: "as\0is",
    }));
    const folder = await openPosthorn({ dataDir, dev: true });
    t.after(() => folder.close());
    const { down } = await fill(folder, receiver);
    const before = await factsOf(folder);
    const secret = await folder.webhooks.secret(down);
    await folder.close();

    const still = filesOf(dataDir);
    const plan = await planMove({ from: dataDir, to: database.url, settings: ofTheFolder });
    assert.deepEqual(
      [plan.served, plan.parts.find(({ part }) => part === "events")?.rows],
      [false, ordered + 3],
    );
    assert.deepEqual(filesOf(dataDir), still, "a look changes nothing");

    for (const part of ["webhooks", "deliveries", "attempts"])
      await assert.rejects(move(cutAt(part)), /cut/, `the move ends in ${part}`);
    await assert.rejects(openMoved(), /not complete/);
    const report = await move();
    assert.equal(report.rounds, 1);
    const written = new Map(report.parts.map((part) => [part.part, part.written]));
    assert.equal(written.get("events"), 0, "what was there already is not written again");
    await assert.rejects(openPosthorn({ dataDir, dev: true }), /moved to .* serve from there/);

    receiver.clear();
    receiver.script(() => ({ status: 200 }));
    const moved = await openMoved();
    t.after(() => moved.close());
    assert.deepEqual(await factsOf(moved), before);
    assert.deepEqual(await moved.webhooks.secret(down), secret);
    await moved.close();

    const settings = { masterKey: masterKey(), masterKeyPrevious: [] };
    await runMove(
      { from: database.url, to: backDir, settings },
      () => undefined,
      () => Promise.reject(new Error("nobody serves")),
    );
    await assert.rejects(openMoved(), /moved to/);

    const back = await openPosthorn({ dataDir: backDir, dev: true });
    t.after(() => back.close());
    assert.deepEqual(await factsOf(back), before);
    assert.deepEqual(await back.webhooks.secret(down), secret);
    const again = { eventType: "order.paid", data: { n: 0 }, idempotencyKey: "first" };
    await assert.rejects(back.publish(again), /used before|duplicate/i);
    await back.webhooks.circuit({ id: down, action: "force_close" });
    await back.publish({ eventType: "order.shipped", data: { n: ordered } });
    await receiver.waitUntil(() => sentTo(receiver, "/down").length > ordered);
    const inOrder = Array.from({ length: ordered }, (_, n) => n).filter((n) => n !== retried);
    assert.deepEqual(sentTo(receiver, "/down"), [...inOrder, retried, ordered], "a retried one goes last");
  });

  const masterKey = () => readFileSync(join(dataDir, "master.key"), "utf8").trim();
  const openMoved = () =>
    openPosthorn({ databaseUrl: database.url, masterKey: masterKey(), adminKey: "k".repeat(40), dev: true });

  async function move(tell: (news: MoveNews) => void = () => undefined) {
    return runMove({ from: dataDir, to: database.url, settings: ofTheFolder }, tell, () =>
      Promise.reject(new Error("nobody serves")),
    );
  }

  test("a server continues while its rows are copied, and its changes are copied in the last round", async (t) => {
    const [other, served] = [await createTestDatabase(), mkdtempSync(join(tmpdir(), "posthorn-move-"))];
    t.after(async () => {
      await other.drop();
      rmSync(served, { recursive: true, force: true });
    });
    receiver.script(() => ({ status: 200 }));
    const server = await openPosthorn({ dataDir: served, dev: true });
    t.after(() => server.close());
    await server.webhooks.create({ url: receiver.url("/fine"), events: ["*"] });
    await server.publish({ eventType: "order.paid", data: { n: 1 } });
    const ends = { from: served, to: other.url, settings: ofTheFolder };
    assert.equal((await planMove(ends)).served, true);
    const report = await runMove(
      ends,
      () => undefined,
      async () => {
        for (let n = 2; n <= 5; n += 1) await server.publish({ eventType: "order.paid", data: { n } });
        await server.close();
      },
    );
    assert.equal(report.rounds, 2);
    const rows = new Map(report.parts.map((part) => [part.part, part.rows]));
    assert.deepEqual([rows.get("events"), rows.get("deliveries")], [5, 5]);
    const [{ count } = {}] = await other.query("SELECT count(*)::int FROM posthorn.events");
    assert.equal(count, 5);
  });

  test("text that PostgreSQL rejects moves as U+FFFD and is reported, and a repeated move is already complete", async (t) => {
    const [other, folder] = [await createTestDatabase(), mkdtempSync(join(tmpdir(), "posthorn-move-"))];
    t.after(async () => {
      await other.drop();
      rmSync(folder, { recursive: true, force: true });
    });
    const posthorn = await openPosthorn({ dataDir: folder, dev: true });
    await posthorn.tenants.put({ id: "acme", input: { name: "half @ and whole \u{1f4ef}" } });
    await posthorn.tenants.put({ id: "plain", input: { name: "a backslash: \\ud800" } });
    await posthorn.close();
    // Older versions accepted this text.
    const db = new DatabaseSync(join(folder, "posthorn.db"));
    db.exec(
      String.raw`UPDATE tenants SET document = replace(document, '@', '\ud83d\u0000') WHERE id = 'acme'`,
    );
    db.close();

    const ends = { from: folder, to: other.url, settings: ofTheFolder };
    const news: MoveNews[] = [];
    const watch = {
      tell: (each: MoveNews) => void news.push(each),
      pause: () => Promise.reject(new Error()),
    };
    const report = await runMove(ends, watch.tell, watch.pause);
    assert.deepEqual(
      news.filter(({ kind }) => kind === "replaced"),
      [{ kind: "replaced", part: "tenants", rows: 1 }],
    );
    assert.equal(report.parts.find(({ part }) => part === "tenants")?.replaced, 1);
    const rows = await other.query(
      "SELECT id, document::jsonb ->> 'name' AS text FROM posthorn.tenants WHERE id <> 'default' ORDER BY id",
    );
    assert.deepEqual(rows, [
      { id: "acme", text: "half \ufffd\ufffd and whole \u{1f4ef}" },
      { id: "plain", text: "a backslash: \\ud800" },
    ]);

    const complete =
      /the move of .* is already complete: everything was moved to .* on 20.*Serve from there.*--reopen/;
    await assert.rejects(runMove(ends, watch.tell, watch.pause), complete);
    await assert.rejects(planMove(ends), complete);
  });

  test("half of a surrogate pair in PostgreSQL does not abort a move from there", async (t) => {
    const [from, to] = [await createTestDatabase(), mkdtempSync(join(tmpdir(), "posthorn-back-"))];
    t.after(async () => {
      await from.drop();
      rmSync(to, { recursive: true, force: true });
    });
    const key = Buffer.alloc(32, 7).toString("base64");
    const options = { databaseUrl: from.url, masterKey: key, adminKey: "k".repeat(40), dev: true };
    const posthorn = await openPosthorn(options);
    await posthorn.tenants.put({ id: "acme", input: { name: "half @" } });
    await posthorn.close();
    await from.query(
      String.raw`UPDATE posthorn.tenants SET document = replace(document, '@', '\ud83d') WHERE id = 'acme'`,
    );
    const settings = { masterKey: key, masterKeyPrevious: [] };
    await runMove(
      { from: from.url, to, settings },
      () => undefined,
      async () => undefined,
    );
    const back = await openPosthorn({ dataDir: to, dev: true });
    t.after(() => back.close());
    assert.equal((await back.tenants.get("acme")).name, "half \ufffd");
  });

  test("the folder can be served again on request", async () => {
    await reopenMoved({ from: dataDir, settings: ofTheFolder });
    await (await openPosthorn({ dataDir, dev: true })).close();
  });
});

/** Delivered, refused and waiting deliveries of two tenants, with idempotency keys. */
async function fill(posthorn: Posthorn, receiver: Receiver): Promise<{ readonly down: string }> {
  await posthorn.tenants.put({ id: "acme", input: {} });
  const at = (path: string) => `${receiver.origin}${path}`;
  await posthorn.webhooks.create({ url: at("/fine"), events: ["order.paid"] });
  await posthorn.webhooks.create({ url: at("/refuses"), events: ["order.paid"] });
  const down = await posthorn.webhooks.create({
    url: at("/down"),
    events: ["order.shipped"],
    ordering: "strict",
  });
  for (let n = 0; n < 3; n += 1)
    await posthorn.publish({
      eventType: "order.paid",
      data: { n },
      idempotencyKey: n === 0 ? "first" : `key ${n}`,
    });
  for (let n = 0; n < ordered; n += 1)
    await posthorn.publish({ eventType: "order.shipped", data: { n }, source: "shop" });
  await eventually("three deliveries, three refusals and the first of those that wait were tried", {
    ask: () => posthorn.deliveries.list({ limit: 250 }),
    holds: ({ rows }) => rows.filter(({ delivery }) => delivery.progress.attemptCount > 0).length === 7,
  });
  // Forces the circuit open, so that nothing is sent to this webhook before the test closes the circuit, however long
  // the move takes.
  await posthorn.webhooks.circuit({ id: down.view.webhook.id, action: "force_open" });
  await retryOne(posthorn, down.view.webhook.id);
  return { down: down.view.webhook.id };
}

/** Cancels a delivery that waits in an ordered lane, and retries it. It is then queued behind the other deliveries. */
async function retryOne(posthorn: Posthorn, webhookId: string): Promise<void> {
  const { rows } = await posthorn.deliveries.listOfWebhook({ webhookId, limit: 250, order: "oldest" });
  const deliveryId = rows[retried]?.delivery.id ?? "";
  await posthorn.deliveries.cancelBatch({ ids: [deliveryId] });
  await eventually("it is cancelled", {
    ask: () => posthorn.deliveries.get(deliveryId),
    holds: ({ view }) => view.status === "cancelled",
  });
  await posthorn.deliveries.retry({ webhookId, deliveryId });
}

/** The stored state, without the reports of workers. */
async function factsOf(posthorn: Posthorn): Promise<unknown> {
  const all = { limit: 250 };
  const webhooks = (await posthorn.webhooks.list(all)).rows.map(({ webhook }) => webhook);
  const events = (await posthorn.events.list(all)).rows;
  const deliveries = (await posthorn.deliveries.list(all)).rows.map(({ delivery }) => delivery);
  const dead = (await posthorn.deadLetters.list(all)).rows.map(({ delivery }) => delivery.id);
  const attempts = await Promise.all(
    deliveries.map(async ({ id }) => (await posthorn.deliveries.get(id)).attempts),
  );
  // PostgreSQL cannot store U+0000.
  return JSON.parse(
    JSON.stringify({ webhooks, events, deliveries, dead, attempts }).replaceAll("\\u0000", "\uFFFD"),
  );
}

/** A digest of each file in a folder. */
function filesOf(dir: string): ReadonlyMap<string, string> {
  return new Map(
    readdirSync(dir)
      .toSorted()
      .map((name) => [
        name,
        createHash("sha256")
          .update(readFileSync(join(dir, name)))
          .digest("hex"),
      ]),
  );
}

/** Ends a move as a kill would: after the first rows of a part have been written. */
function cutAt(part: string): (news: MoveNews) => void {
  return (news) => {
    if (news.kind === "progress" && news.part === part) throw new Error("cut");
  };
}

function sentTo(receiver: Receiver, path: string): readonly unknown[] {
  return receiver.requests
    .filter((request) => request.path === path)
    .map(({ text }) => (JSON.parse(text) as { data: { n: number } }).data.n);
}
