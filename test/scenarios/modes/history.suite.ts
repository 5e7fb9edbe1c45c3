/** The history of a webhook, including the actor of each change. */
import assert from "node:assert/strict";
import { itemsOf, type Json, textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import { fieldOf } from "../tenant-scene.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

export const history: Scenarios = {
  "the history of a webhook shows each change, by whom and why, and each configuration": async (scene) => {
    const webhook = await scene.addWebhook();
    const path = `/v1/webhooks/${webhook}`;
    await scene.change(webhook, {
      description: "orders",
      rate_limit: { requests_per_minute: 600, burst: 5 },
    });
    await scene.api.post(`${path}/pause`, { reason: "they move house" });
    await scene.api.post(`${path}/resume`);
    await scene.api.post(`${path}/secret/rotate`, { mode: "revoke" });
    const until = (wanted: string): Promise<readonly Json[]> =>
      eventually(`the timeline tells of ${wanted}`, {
        ask: () => scene.list(`${path}/timeline`),
        holds: (rows) => rows.some(({ kind }) => textOf(kind) === wanted),
      });
    // Waits until a worker serves the webhook.
    await scene.reaches(await scene.publish(), "success");
    await scene.change(`${webhook}/circuit-breaker`, { action: "force_open", duration_seconds: 60 });
    await until("circuit_opened");
    await scene.change(`${webhook}/circuit-breaker`, { action: "reset" });
    await until("circuit_closed");
    await scene.api.post(`${path}/disable`);
    const timeline = await until("disabled");
    const kinds = fieldOf(timeline, "kind").toReversed();
    const circuit = ["circuit_opened", "circuit_closed"];
    assert.deepEqual(
      kinds.filter((kind) => circuit.includes(String(kind))),
      circuit,
    );
    assert.deepEqual(
      kinds.filter((kind) => !circuit.includes(String(kind))),
      ["created", "changed", "paused", "resumed", "secret_rotated", "disabled"],
    );
    const of = (kind: string): Json => timeline.find((row) => textOf(row["kind"]) === kind) ?? ({} as Json);
    assert.equal(of("paused")["reason"], "they move house");
    assert.equal(of("disabled")["reason"], "owner");
    assert.equal(textOf(of("changed")["by"]?.["kind"]), "api_key");
    assert.equal(of("circuit_opened")["by"], null);
    assert.deepEqual(itemsOf(of("changed")["changed"]), ["description", "rate_limit"]);
    const revisions = await scene.list(`${path}/revisions`);
    assert.deepEqual(fieldOf(revisions, "revision"), [3, 2, 1]);
    assert.deepEqual(revisions[0]?.["changes"], { secret: {} });
    assert.deepEqual(revisions[1]?.["changes"]?.["rate_limit"], {
      from: null,
      to: { requests_per_minute: 600, burst: 5 },
    });
    assert.deepEqual(revisions[2]?.["changes"]?.["events"], { to: ["order.*"] });
    assert.equal((await scene.api.get(path)).body["revision"], 3);
    await scene.api.call("DELETE", path);
    assert.equal((await scene.api.get(`${path}/timeline`)).status, 404);
  },
};
