import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { startReceiver } from "../peers/receiver.ts";
import type { Receiver } from "../peers/receiver.ts";
import { PosthornProcess } from "./posthorn-process.fixture.ts";
import { seededNumbers } from "../services/seeded-numbers.fixture.ts";

const webhookCount = 4;
const publishers = 16;
/** Upper limit: five requests in flight per webhook, plus one uncommitted group of settlements. */
const inFlightMax = webhookCount * 5 + 512;

/** Kills a server repeatedly under load: all accepted events arrive, and few of them twice (EDS-3.3-1). */
export async function killServers(
  t: TestContext,
  { kills, seed }: { readonly kills: number; readonly seed: number },
): Promise<void> {
  const random = seededNumbers(seed);
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const posthorn = await PosthornProcess.start();
  t.after(() => posthorn.remove());
  for (let index = 0; index < webhookCount; index += 1) {
    const made = await posthorn.call("POST", "/v1/webhooks", {
      url: receiver.url(`/${index}`),
      events: [`load.n${index}`],
      signing: { schemes: ["v1"] },
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
  }

  const accepted = new Set<string>();
  let duplicatesBefore = 0;
  let duplicatesPerKillMax = 0;
  for (let kill = 0; kill < kills; kill += 1) {
    const load = startLoad(posthorn, accepted);
    // On a busy machine, the first response takes longer than the whole delay. A kill before that response would
    // interrupt nothing.
    await load.hasBegun;
    await new Promise((resolve) => setTimeout(resolve, random() * 400));
    await posthorn.kill();
    await load.stop();
    await posthorn.start();
    const duplicates = receiver.requestCount - uniqueIds(receiver).size;
    duplicatesPerKillMax = Math.max(duplicatesPerKillMax, duplicates - duplicatesBefore);
    duplicatesBefore = duplicates;
  }

  await receiver
    .waitUntil(() => isSuperset(uniqueIds(receiver), accepted))
    .catch(() => {
      const received = uniqueIds(receiver);
      const lost = [...accepted].filter((id) => !received.has(id));
      assert.fail(
        `${lost.length} of ${accepted.size} accepted events were never delivered, such as ${lost[0]}`,
      );
    });
  await untilNothingWaits(posthorn);
  const duplicates = receiver.requestCount - uniqueIds(receiver).size;
  t.diagnostic(
    `${accepted.size} events accepted, ${receiver.requestCount} requests, ${duplicates} duplicates in ${kills} kills, ` +
      `at most ${duplicatesPerKillMax} after one kill`,
  );
  assert.ok(accepted.size > kills, "there was load");
  assert.ok(duplicatesPerKillMax <= inFlightMax, `${duplicatesPerKillMax} duplicates after one kill`);
}

interface Load {
  /** Resolves when the first event is accepted, or when publishing has become impossible. */
  readonly hasBegun: Promise<unknown>;
  stop(): Promise<void>;
}

/**
 * Publishes as fast as responses arrive, until it is stopped or the server has ended. Adds the events that got a 202.
 */
function startLoad(posthorn: PosthornProcess, accepted: Set<string>): Load {
  let stopped = false;
  const begun = Promise.withResolvers<null>();
  const key = posthorn.adminKey;
  const publisher = async (index: number): Promise<void> => {
    for (let n = 0; !stopped; n += 1) {
      const id = await publishOne(posthorn, { key, eventType: `load.n${(index + n) % webhookCount}`, n });
      if (id === null) return;
      accepted.add(id);
      begun.resolve(null);
    }
  };
  const running = Array.from({ length: publishers }, (_, index) => publisher(index));
  const ended = Promise.all(running).then(() => undefined);
  return {
    hasBegun: Promise.race([begun.promise, ended]),
    async stop() {
      stopped = true;
      await ended;
    },
  };
}

async function publishOne(
  posthorn: PosthornProcess,
  event: { readonly key: string; readonly eventType: string; readonly n: number },
): Promise<string | null> {
  try {
    const response = await fetch(`${posthorn.url}/v1/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${event.key}`, "content-type": "application/json" },
      body: JSON.stringify({ event_type: event.eventType, data: { n: event.n } }),
    });
    const body = (await response.json()) as { id: string };
    assert.equal(response.status, 202, JSON.stringify(body));
    return body.id;
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return null;
  }
}

async function untilNothingWaits(posthorn: PosthornProcess): Promise<void> {
  const deadline = performance.now() + 240_000;
  for (;;) {
    const metrics = await (await fetch(`${posthorn.url}/metrics`)).text();
    const depths = [...metrics.matchAll(/^webhook_queue_depth\{[^}]*\} (\S+)$/gm)].map((match) =>
      Number(match[1]),
    );
    assert.ok(depths.length > 0, "the queue depth is in the metrics");
    if (depths.every((depth) => depth === 0)) return;
    assert.ok(performance.now() < deadline, `deliveries are stuck: ${depths.join(", ")}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function uniqueIds(receiver: Receiver): Set<string> {
  return new Set(receiver.requests.map((request) => String(request.headers["webhook-id"])));
}

function isSuperset(all: ReadonlySet<string>, some: ReadonlySet<string>): boolean {
  for (const item of some) if (!all.has(item)) return false;
  return true;
}
