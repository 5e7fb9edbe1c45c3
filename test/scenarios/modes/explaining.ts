/** What the history tells of a request, and what a delivery that waits says of what holds it. */
import assert from "node:assert/strict";
import { itemsOf } from "../api/client.ts";
import type { Json } from "../api/client.ts";
import type { TenantScene } from "../tenant-scene.ts";
import { soon } from "./scenario.ts";
import type { Scenarios } from "./scenario.ts";

export const explaining: Scenarios = {
  "an attempt that failed tells where it went, how, and what came back, without credentials": async (
    scene,
  ) => {
    const { receiver, api, admin } = scene;
    receiver.script((_, index) =>
      index > 0
        ? {}
        : {
            status: 503,
            headers: {
              "X-Reason": "full",
              "Set-Cookie": "id=s3cret-cookie",
              Location: "/in?token=s3cret-token",
            },
            delayMs: 20,
          },
    );
    const url = `${receiver.url("/hook")}?api_key=s3cret-query&a=1`;
    const webhook = await scene.addWebhook({ url, ...soon });
    const event = await scene.publish();
    const { id } = (await scene.reaches(event, "success")) as unknown as { readonly id: string };
    const path = `/v1/deliveries/${id}`;
    const { text, body } = await api.get(path);
    assert.doesNotMatch(text, /s3cret/);
    const [failed, accepted] = itemsOf(body["attempts"]);
    assert.equal(failed?.["url"], `${receiver.url("/hook")}?api_key=***&a=1`);
    assert.equal(failed["http_version"], "1.1");
    assert.equal(failed["config_revision"], 1);
    assert.equal(failed["metadata_truncated"], false);
    const fields = new Map<unknown, unknown>(
      itemsOf(failed["response_headers"]).map((field) => [field["name"], field["value"]]),
    );
    assert.equal(fields.get("x-reason"), "full");
    assert.equal(fields.get("set-cookie"), "***");
    assert.equal(fields.get("location"), "/in?token=***");
    const timings = failed["timings_ms"] as Json;
    assert.deepEqual(Object.keys(timings), ["dns", "connect", "tls", "wait"]);
    assert.ok(Number(timings["wait"]) >= 18, JSON.stringify(timings));
    assert.equal(failed["peer_address"], null, "which address inside the operator let it go to is not told");
    const [seen] = itemsOf((await admin.get(path)).body["attempts"]);
    assert.equal(seen?.["peer_address"], "127.0.0.1");
    if (!isTracedId(id))
      assert.equal(accepted?.["timings_ms"], null, "one in a hundred accepted ones is kept");
    await changesTheRevision(scene, webhook);
  },
};

async function changesTheRevision(scene: TenantScene, webhook: string): Promise<void> {
  assert.equal((await scene.change(webhook, { description: "other" }))["revision"], 2);
  assert.equal((await scene.change(webhook, { description: "other" }))["revision"], 2);
  assert.equal((await scene.change(webhook, { active: false }))["revision"], 2);
}

function isTracedId(id: string): boolean {
  return Number.parseInt(id.slice(-6), 16) % 100 === 0;
}
