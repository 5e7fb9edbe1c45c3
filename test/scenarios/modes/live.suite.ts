/** Live updates, regardless of the process that causes them. */
import assert from "node:assert/strict";
import type { Answer } from "../../peers/receiver.ts";
import { itemsOf, textOf } from "../api/client.fixture.ts";
import { openStream, type StreamedEvent } from "../api/event-stream.fixture.ts";
import type { TenantScene } from "../tenant-scene.fixture.ts";
import { type Scenarios, soon } from "./scenario.fixture.ts";

export const live: Scenarios = {
  "a stream reports a new delivery and its outcome, and none of another tenant": async (scene) => {
    const first = Promise.withResolvers<Answer>();
    scene.receiver.script((_, index) => (index === 0 ? first.promise : {}));
    const webhook = await scene.addWebhook(soon);
    const key = await scene.admin.keyFor("read", scene.tenantId);
    const strangerKey = await scene.admin.keyFor("read", `${scene.tenantId}-stranger`);
    const own = await openStream(scene.api, { key, query: `topics=deliveries:webhook=${webhook}` });
    const stranger = await openStream(scene.api, { key: strangerKey, query: "topics=deliveries" });
    const event = await scene.publish();
    await own.until("the stream tells of it", rowOf(event, "pending"));
    first.resolve({ status: 503 });
    const ended = await own.until("the stream tells of the success", rowOf(event, "success"));
    assert.equal(ended.name, "deliveries");
    assert.equal(ended.data["topic"], `deliveries:webhook=${webhook}`);
    assert.equal(ended.data["left_out"], false);
    // The other tenant's event is published last. Because it arrives, earlier events are really missing and not just
    // late.
    const after = scene.admin.withKey(await scene.admin.keyFor("manage", `${scene.tenantId}-stranger`));
    await after.post("/v1/webhooks", { url: scene.receiver.url("/stranger"), events: ["order.*"] });
    const theirs = await after.post("/v1/events", { event_type: "order.paid", data: {} });
    await stranger.until("the stranger hears of its own", rowOf(textOf(theirs.body["id"])));
    assert.deepEqual(stranger.events.filter(rowOf(event)), []);
    await own.until("the stream goes on", rowOf(await scene.publish()));
    assert.equal(own.events.filter(rowOf(event, "success")).length, 1, "an end is told once");
    own.close();
    stranger.close();
  },

  "a reconnecting client receives what it missed": async (scene) => {
    await scene.addWebhook();
    const key = await scene.admin.keyFor("read", scene.tenantId);
    const first = await scene.publish();
    const before = await openStream(scene.api, { key, query: "topics=deliveries" });
    const second = await scene.publish();
    const { id } = await before.until("the second is told", rowOf(second));
    before.close();
    const missed = await scene.publish();
    await scene.reaches(missed, "success");
    const again = await openStream(scene.api, { key, query: "topics=deliveries", lastEventId: id });
    await again.until("the missed one is told", rowOf(missed, "success"));
    again.close();
    const late = await openStream(scene.api, { key, query: "topics=deliveries", lastEventId: "zzz" });
    await late.until("what cannot be continued is said", ({ name }) => name === "reset");
    late.close();
    assert.notEqual(first, missed);
  },

  "a problem is reported when it opens and when it changes, to callers that may see it": async (scene) => {
    scene.receiver.script(() => ({ status: 422 }));
    const webhook = await scene.addWebhook();
    const key = await scene.admin.keyFor("read", scene.tenantId);
    const strangerKey = await scene.admin.keyFor("read", `${scene.tenantId}-problems`);
    const own = await openStream(scene.api, { key, query: "topics=problems" });
    const stranger = await openStream(scene.api, { key: strangerKey, query: "topics=problems,deliveries" });
    await scene.publish();
    const isOpen = ({ name, data }: StreamedEvent): boolean =>
      name === "problems" && textOf(itemsOf(data["rows"])[0]?.["webhook_id"]) === webhook;
    const opened = await own.until("the problem is told", isOpen);
    const [problem] = itemsOf(opened.data["rows"]);
    assert.deepEqual([opened.data["topic"], problem?.["state"]], ["problems", "open"]);
    await scene.api.call("PATCH", `/v1/problems/${textOf(problem?.["id"])}`, {
      body: { note: "asked the shop" },
    });
    await own.until("the note is told", ({ data }) => JSON.stringify(data).includes("asked the shop"));
    const after = scene.admin.withKey(await scene.admin.keyFor("manage", `${scene.tenantId}-problems`));
    await after.post("/v1/webhooks", { url: scene.receiver.url("/other"), events: ["order.*"] });
    await after.post("/v1/events", { event_type: "order.paid", data: {} });
    await stranger.until("the stranger hears of its own", ({ name }) => name === "problems");
    assert.deepEqual(stranger.events.filter(isOpen), []);
    own.close();
    stranger.close();
  },

  "counts of the current minute are reported as they change, to each tenant its own": async (scene) => {
    await scene.addWebhook();
    const key = await scene.admin.keyFor("read", scene.tenantId);
    const strangerKey = await scene.admin.keyFor("read", `${scene.tenantId}-stats`);
    const own = await openStream(scene.api, { key, query: "topics=stats" });
    const stranger = await openStream(scene.api, { key: strangerKey, query: "topics=stats" });
    const attemptsOf = ({ name, data }: StreamedEvent): number =>
      name === "stats"
        ? itemsOf(data["rows"]).reduce((sum, row) => sum + Number(row["attempts"] ?? 0), 0)
        : 0;
    const published = (): number => {
      const newest = new Map<string, number>();
      for (const { name, data } of own.events)
        if (name === "stats")
          for (const row of itemsOf(data["rows"])) newest.set(textOf(row["at"]), Number(row["published"]));
      return [...newest.values()].reduce((sum, count) => sum + count, 0);
    };
    await scene.publish({ event_type: "nobody.asked" });
    await own.until("what nobody gets is told", () => published() === 1);
    await scene.reaches(await scene.publish(), "success");
    await own.until("the first is counted", (event) => attemptsOf(event) > 0);
    await scene.reaches(await scene.publish(), "success");
    await own.until(
      "the second is counted",
      () => own.events.filter((event) => attemptsOf(event) > 0).length > 1,
    );
    await own.until("all that was published is told", () => published() === 3);
    // The other tenant's first event is published last. Because it arrives, earlier events are really missing and not
    // just late.
    const after = scene.admin.withKey(await scene.admin.keyFor("manage", `${scene.tenantId}-stats`));
    const theirs = await after.post("/v1/events", { event_type: "nobody.asked", data: {} });
    assert.equal(theirs.status, 202, theirs.text);
    await stranger.until("the stranger hears of its own", ({ name }) => name === "stats");
    assert.ok(stranger.events.every((event) => attemptsOf(event) === 0));
    own.close();
    stranger.close();
  },

  "one delivery can be followed, and none of another tenant": async (scene) => {
    const delivery = await waitingDelivery(scene);
    const key = await scene.admin.keyFor("read", scene.tenantId);
    const stream = await openStream(scene.api, { key, query: `topics=delivery:${delivery.id}` });
    const retried = await scene.api.post(
      `/v1/webhooks/${delivery.webhook}/deliveries/${delivery.id}/retry`,
      {},
    );
    assert.equal(retried.status, 202, retried.text);
    const told = await stream.until(
      "it was retried",
      ({ data }) => itemsOf(data["rows"])[0]?.["retried_at"] !== null,
    );
    assert.equal(told.name, "delivery");
    stream.close();
    const foreign = scene.admin.withKey(await scene.admin.keyFor("read", `${scene.tenantId}-other`));
    for (const topic of [`delivery:${delivery.id}`, `deliveries:webhook=${delivery.webhook}`]) {
      const headers = { accept: "text/event-stream" };
      const refused = await foreign.get(`/v1/stream?topics=${topic}`, { headers, isStream: true });
      assert.equal(refused.status, 404, topic);
    }
  },
};

/** Creates a delivery that got a 503 and waits an hour for its next attempt. */
async function waitingDelivery(
  scene: TenantScene,
): Promise<{ readonly id: string; readonly webhook: string }> {
  scene.receiver.script(() => ({ status: 503 }));
  const webhook = await scene.addWebhook({ retry_config: { schedule_ms: [3_600_000] } });
  const event = await scene.publish();
  await scene.reaches(event, "failed");
  return { id: textOf((await scene.deliveryOf(event))["id"]), webhook };
}

function rowOf(eventId: string, status?: string): (event: StreamedEvent) => boolean {
  return ({ data }) =>
    itemsOf(data["rows"]).some(
      (row) =>
        textOf(row["event_id"]) === eventId && (status === undefined || textOf(row["status"]) === status),
    );
}
