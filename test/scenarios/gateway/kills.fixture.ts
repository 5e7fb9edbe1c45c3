/** The gateway is killed with signal 9 while senders wait for responses. A ledger records the responses. */
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { databaseFile } from "../../../src/store/sqlite/open.ts";
import { type ReceivedRequest, type Receiver, startReceiver } from "../../peers/receiver.ts";
import { seededNumbers } from "../../services/seeded-numbers.fixture.ts";
import { type Client, createClient, itemsOf, textOf } from "../api/client.fixture.ts";
import { PosthornProcess } from "../posthorn-process.fixture.ts";
import { hookOf, makeSource, type MadeSource, post, rawHeader, type Sent, signed } from "./scene.fixture.ts";

const senders = 12;
const passers = 4;

/** Statistics about the kills, for diagnostics. */
export interface KillReport {
  readonly answered: number;
  /** Number of messages that were committed before a kill but got a response only to a repeat. */
  readonly between: number;
  /** Number of kills that fell between a commit and its response. */
  readonly killsBetween: number;
  /** Number of messages that were passed through and accepted. */
  readonly passed: number;
  readonly requests: number;
}

interface Ledger {
  /** The event ID in the response, by key. */
  readonly answered: Map<string, string>;
  /**
   * The number of the kill that lost the original response, by key. Contains the keys whose first response already
   * reported a duplicate.
   */
  readonly between: Map<string, number>;
  /** The number of kills so far. */
  kills: number;
  /** Keys of messages that were passed through and accepted. */
  readonly passed: Set<string>;
}

/**
 * Senders repeat each message until they get a 2xx response, as providers do. The source has two connections: one is open, and
 * one is paused until the end. Both webhooks must get every message with a 2xx response, under the sender's key, byte for byte.
 *
 * Other senders send messages that are passed through. After a success, every repeat gets the same response, without
 * another request to the destination.
 */
export async function killGateway(run: {
  readonly kills: number;
  readonly seed: number;
}): Promise<KillReport> {
  const [open, paused, passed] = await Promise.all([startReceiver(), startReceiver(), startReceiver()]);
  const posthorn = await PosthornProcess.start();
  const ledger: Ledger = { answered: new Map(), between: new Map(), kills: 0, passed: new Set() };
  try {
    const admin = createClient({ baseUrl: posthorn.url, key: posthorn.adminKey });
    const source = await makeSource(admin, {
      mode: "store_and_forward",
      webhooks: [hookOf(open), hookOf(paused)],
    });
    const through = await makeSource(admin, { mode: "pass_through", webhooks: [hookOf(passed)] });
    const hold = (isHeld: boolean) =>
      admin.call("PATCH", `/v1/connections/${source.connections[1]}`, { body: { paused: isHeld } });
    assert.equal((await hold(true)).status, 200);
    const scene = { posthorn, source, through, ledger };
    await killUnderLoad(scene, run);
    await repeatSome(scene);
    await repeatPassed(scene, passed);
    assert.equal(paused.requestCount, 0, "a paused connection sends nothing");
    assert.equal((await hold(false)).status, 200);
    const keys = new Set(ledger.answered.keys());
    await Promise.all([open, paused].map((receiver) => untilAllCame(receiver, keys)));
    await compareLog(admin, { source, ledger });
    return {
      answered: keys.size,
      between: ledger.between.size,
      killsBetween: new Set(ledger.between.values()).size,
      passed: ledger.passed.size,
      requests: open.requestCount + paused.requestCount,
    };
  } finally {
    await posthorn.remove();
    await Promise.all([open.close(), paused.close(), passed.close()]);
  }
}

interface Scene {
  readonly posthorn: PosthornProcess;
  readonly source: MadeSource;
  /** The source in pass-through mode. */
  readonly through: MadeSource;
  readonly ledger: Ledger;
}

async function killUnderLoad(
  scene: Scene,
  { kills, seed }: { readonly kills: number; readonly seed: number },
): Promise<void> {
  const random = seededNumbers(seed);
  const { posthorn, ledger } = scene;
  let stopped = false;
  const sender = async (name: number): Promise<void> => {
    for (let n = 0; !stopped; n += 1) await untilAnswered(scene, `"${name}\\"${n}"`);
  };
  const passer = async (name: number): Promise<void> => {
    for (let n = 0; !stopped; n += 1) await untilPassed(scene, `"through ${name} ${n}"`);
  };
  const sending = Promise.all([
    ...Array.from({ length: senders }, (_, name) => sender(name)),
    ...Array.from({ length: passers }, (_, name) => passer(name)),
  ]);
  for (let kill = 0; kill < kills; kill += 1) {
    const before = ledger.answered.size;
    while (ledger.answered.size < before + senders) await new Promise((resolve) => setTimeout(resolve, 5));
    // Kills alternately at a random time and at the worst time, just after a commit.
    if (kill % 2 === 0) await new Promise((resolve) => setTimeout(resolve, random() * 60));
    else await nextCommit(posthorn);
    ledger.kills = kill + 1;
    await posthorn.kill();
    await posthorn.start();
  }
  stopped = true;
  await sending;
}

/**
 * Polls without pausing until the file contains new data. The kill then comes before the flush is complete and before
 * the response is sent. Data that the operating system has received survives the kill.
 */
async function nextCommit({ dataDir }: PosthornProcess): Promise<void> {
  const file = `${databaseFile(dataDir)}-wal`;
  const written = (): string => {
    const { size, mtimeNs } = statSync(file, { bigint: true });
    return `${size} ${mtimeNs}`;
  };
  for (const deadline = performance.now() + 5_000; performance.now() < deadline; ) {
    const before = written();
    for (const until = performance.now() + 20; performance.now() < until; ) if (written() !== before) return;
    // Lets the senders run.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Requests in flight when the process dies are repeated with the same key and body. */
async function untilAnswered({ posthorn, source, ledger }: Scene, key: string): Promise<void> {
  for (let cutOffBy = 0; ; ) {
    const sent = await send({ posthorn, source }, key).catch(() => null);
    if (sent === null) cutOffBy = ledger.kills;
    if (sent?.status === 202) {
      const { event_id: event, duplicate } = JSON.parse(sent.text) as {
        readonly event_id: string;
        readonly duplicate: boolean;
      };
      ledger.answered.set(key, event);
      if (duplicate) ledger.between.set(key, cutOffBy);
      return;
    }
    const isExpected = sent === null || [409, 503].includes(sent.status);
    assert.ok(isExpected, `${sent?.status} ${sent?.text}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** State that a kill left behind must not block a repeat. */
async function untilPassed({ posthorn, through, ledger }: Scene, key: string): Promise<void> {
  for (;;) {
    const sent = await send({ posthorn, source: through }, key).catch(() => null);
    if (sent?.status === 200) {
      ledger.passed.add(key);
      return;
    }
    assert.ok(sent === null || sent.status === 503, `${sent?.status} ${sent?.text}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** After a success, each repeat gets the same response, without another request to the destination. */
async function repeatPassed({ posthorn, through, ledger }: Scene, receiver: Receiver): Promise<void> {
  const before = receiver.requestCount;
  const all = [...ledger.passed];
  for (let at = 0; at < all.length; at += Math.ceil(all.length / 50))
    assert.equal((await send({ posthorn, source: through }, all[at] as string)).status, 200);
  assert.equal(receiver.requestCount, before, "a repeat of what was accepted is answered from what is kept");
}

function send({ posthorn, source }: Pick<Scene, "posthorn" | "source">, key: string): Promise<Sent> {
  const body = JSON.stringify({ key });
  const headers = { ...signed(body), "idempotency-key": key };
  return post(`${posthorn.url}${source.path}`, body, { headers });
}

/** Messages with a 2xx response survive every kill: a repeat is recognised as the same event. */
async function repeatSome({ posthorn, source, ledger }: Scene): Promise<void> {
  const all = [...ledger.answered];
  for (let at = 0; at < all.length; at += Math.ceil(all.length / 50)) {
    const [key, event] = all[at] as [string, string];
    const repeat = await send({ posthorn, source }, key);
    assert.deepEqual(JSON.parse(repeat.text), { event_id: event, duplicate: true }, `${repeat.status}`);
  }
}

async function untilAllCame(receiver: Receiver, keys: ReadonlySet<string>): Promise<void> {
  const missing = new Set(keys);
  let looked = 0;
  const came = (): boolean => {
    for (; looked < receiver.requests.length; looked += 1) {
      const request = receiver.requests[looked] as ReceivedRequest;
      const key = rawHeader(request, "idempotency-key") ?? "";
      assert.equal(request.text, JSON.stringify({ key }));
      missing.delete(key);
    }
    return missing.size === 0;
  };
  await receiver.waitUntil(came).catch(() => {
    assert.fail(`${missing.size} of ${keys.size} answered messages never came, such as ${[...missing][0]}`);
  });
}

/** Every event reported to a sender has exactly one log line that says it was accepted. */
async function compareLog(
  admin: Client,
  { source, ledger }: Pick<Scene, "source" | "ledger">,
): Promise<void> {
  const logged: string[] = [];
  for (let cursor = ""; ; ) {
    const page = await admin.get(
      `/v1/requests?source_id=${source.id}&outcome=accepted&limit=100${cursor === "" ? "" : `&cursor=${cursor}`}`,
    );
    assert.equal(page.status, 200, page.text);
    logged.push(...itemsOf(page.body["data"]).map((one) => textOf(one["event_id"])));
    const next = page.body["next_cursor"] as unknown;
    if (typeof next !== "string") break;
    cursor = encodeURIComponent(next);
  }
  assert.equal(new Set(logged).size, logged.length, "one line for each event");
  const known = new Set(logged);
  const missing = [...ledger.answered].filter(([, event]) => !known.has(event));
  assert.deepEqual(missing, [], "what was accepted is in the log");
}
