/** A webhook's failures, reported as one problem. */
import assert from "node:assert/strict";
import { itemsOf, type Json, textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import type { TenantScene } from "../tenant-scene.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

export const problems: Scenarios = {
  "refusals become one problem, which can be muted, recovers and is resolved": async (scene) => {
    let isMended = false;
    scene.receiver.script((_, index) =>
      isMended ? {} : { status: 422, body: `order ${index} is not known\n` },
    );
    const webhook = await scene.addWebhook();
    for (let times = 0; times < 4; times += 1) await scene.publish();
    const open = await problemOf(scene, { webhook, is: ({ count }) => Number(count) === 4 });
    assert.deepEqual(
      [open["state"], open["http_status"], open["failure_category"], open["answer"], open["deliveries"]],
      ["open", 422, "client_error", "order # is not known", 4],
    );
    assert.match(textOf(open["title"]), /^422 .* 4 deliveries\. Not retried/);
    assert.equal(itemsOf(open["delivery_ids"]).length, 3);
    const path = `/v1/problems/${textOf(open["id"])}`;
    const change = async (body: object): Promise<Json> =>
      (await scene.api.call("PATCH", path, { body })).body;
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const muted = await change({ muted: true, muted_until: until, mute_reason: "known", note: "asked them" });
    assert.deepEqual(
      [muted["state"], muted["muted_until"], muted["mute_reason"], muted["note"]],
      ["muted", until, "known", "asked them"],
    );
    const unmuted = await change({ muted: false });
    assert.deepEqual(
      [unmuted["state"], unmuted["muted_until"], unmuted["note"]],
      ["open", null, "asked them"],
    );
    isMended = true;
    await scene.reaches(await scene.publish(), "success");
    await problemOf(scene, { webhook, is: ({ state }) => textOf(state) !== "open" });
    for (let times = 0; times < 20; times += 1) await scene.publish();
    const done = await problemOf(scene, { webhook, is: ({ resolved_at }) => resolved_at !== null });
    assert.deepEqual([done["state"], done["count"]], ["resolved", 4]);
    const unresolved = await scene.api.get(`/v1/problems?webhook_id=${webhook}&state=open&state=recovering`);
    assert.deepEqual(unresolved.body["data"], []);
  },
};

function problemOf(
  { api }: TenantScene,
  { webhook, is }: { readonly webhook: string; readonly is: (problem: Json) => boolean },
): Promise<Json> {
  return eventually("the problem of the webhook", {
    ask: async () =>
      itemsOf((await api.get(`/v1/problems?webhook_id=${webhook}`)).body["data"])[0] ?? ({} as Json),
    holds: (problem) => problem["id"] !== undefined && is(problem),
  });
}
