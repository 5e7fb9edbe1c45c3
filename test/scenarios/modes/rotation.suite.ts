/** Rotated secrets, as seen by an independent consumer: the npm package `standardwebhooks`. */
import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import type { Answer, ReceivedRequest } from "../../peers/receiver.ts";
import { assertProblem, textOf } from "../api/client.fixture.ts";
import { eventually } from "../eventually.fixture.ts";
import type { TenantScene } from "../tenant-scene.fixture.ts";
import type { Scenarios } from "./scenario.fixture.ts";

const overlapMs = 10_000;
/**
 * The process that signs may be a different one from the process that handled the call. It loads the new secret within
 * this time.
 */
const followsWithinMs = 25_000;

export const rotation: Scenarios = {
  "graceful: the old secret until the overlap ends, the new one from the start": async (scene) => {
    const { id, secret: old } = await withSecret(scene);
    const before = await nextRequest(scene);
    assert.ok(verifies(old, before), "before the rotation");
    const askedAtMs = performance.now();
    const rotated = await rotate(scene, id, { mode: "graceful", overlap_seconds: overlapMs / 1_000 });
    const rotatedAtMs = performance.now();
    assert.notEqual(rotated, old);
    const during = await nextRequest(scene);
    assert.ok(verifies(old, during), "the old secret during the overlap");
    const again = await scene.api.post(`/v1/webhooks/${id}/secret/rotate`, { mode: "graceful" });
    assertProblem(again, { status: 409, code: "rotation_in_progress" });
    for (let request = during; verifies(old, request); request = await nextRequest(scene)) {
      const isKnown = verifies(rotated, request) || request.arrivedAtMs - rotatedAtMs < followsWithinMs;
      assert.ok(isKnown, "the new secret during the overlap");
      assert.ok(request.arrivedAtMs - rotatedAtMs < overlapMs + 50_000, "the overlap ends by itself");
    }
    assert.ok(performance.now() - askedAtMs >= overlapMs, "the overlap lasts as long as asked");
    assert.ok(verifies(rotated, await nextRequest(scene)), "the new secret afterwards");
  },

  "revoke: only the new key is used from then on, even for retries of older events": async (scene) => {
    const { receiver } = scene;
    const refused = Promise.withResolvers<Answer>();
    receiver.script((_, index) => (index === 0 ? refused.promise : {}));
    // Retries after a delay that is long enough for the signing process to load the new secret.
    const { id, secret: old } = await withSecret(scene, { retry_config: { schedule_ms: [5_000] } });
    const event = await scene.publish();
    const [first] = await receiver.waitForRequests(1);
    assert.ok(first !== undefined && verifies(old, first));
    const rotated = await rotate(scene, id, { mode: "revoke" });
    refused.resolve({ status: 500 });
    const retry = (await receiver.waitForRequests(2))[1];
    assert.ok(retry !== undefined);
    assert.equal(retry.headers["webhook-id"], event);
    assert.ok(!verifies(old, retry), "the revoked key must not sign the retry");
    assert.ok(verifies(rotated, retry));
    const shown = await scene.api.get(`/v1/webhooks/${id}/secret`);
    assert.deepEqual([shown.body["secret"], shown.body["previous"]] as unknown[], [rotated, null]);
  },

  "a custom secret is accepted, and used for signing": async (scene) => {
    const { id } = await withSecret(scene);
    const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
    assert.equal(await rotate(scene, id, { mode: "revoke", secret }), secret);
    await eventually("it signs", {
      ask: () => nextRequest(scene),
      holds: (request) => verifies(secret, request),
      withinMs: followsWithinMs,
    });
  },
};

async function withSecret(
  scene: TenantScene,
  settings?: object,
): Promise<{ readonly id: string; readonly secret: string }> {
  const { id, secret } = await scene.makeWebhook(settings);
  return { id: textOf(id), secret: textOf(secret) };
}

async function rotate(scene: TenantScene, id: string, how: object): Promise<string> {
  const rotated = await scene.api.post(`/v1/webhooks/${id}/secret/rotate`, how);
  assert.equal(rotated.status, 200, rotated.text);
  return textOf(rotated.body["secret"]);
}

/** Publishes an event and returns the request that delivers it. */
async function nextRequest(scene: TenantScene): Promise<ReceivedRequest> {
  const { receiver } = scene;
  const id = await scene.publish();
  const sent = () => receiver.requests.find(({ headers }) => headers["webhook-id"] === id);
  await receiver.waitUntil(() => sent() !== undefined);
  const request = sent();
  assert.ok(request !== undefined);
  return request;
}

function verifies(secret: string, { text, headers }: ReceivedRequest): boolean {
  try {
    new Webhook(secret).verify(text, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}
