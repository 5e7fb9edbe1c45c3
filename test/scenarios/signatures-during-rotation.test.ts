import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { rejectionBy } from "../peers/kit-verifier.ts";
import { type Answer, type ReceivedRequest, type Receiver, startReceiver } from "../peers/receiver.ts";
import { PosthornProcess } from "./posthorn-process.fixture.ts";

/**
 * Whether an independent consumer accepts the request: the npm package `standardwebhooks`, which supports only `v1`.
 */
function verifies(secret: string, request: ReceivedRequest): boolean {
  try {
    new Webhook(secret).verify(request.text, request.headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

describe("an independent consumer verifies every delivery", () => {
  let posthorn: PosthornProcess;
  let receiver: Receiver;
  before(async () => {
    posthorn = await PosthornProcess.start();
    receiver = await startReceiver();
  });
  after(async () => {
    await posthorn.remove();
    await receiver.close();
  });

  async function createWebhook(path: string): Promise<{ readonly id: string; readonly secret: string }> {
    const made = await posthorn.call("POST", "/v1/webhooks", {
      url: receiver.url(path),
      events: [`rotation.${path.slice(1)}`],
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body as { id: string; secret: string };
  }

  async function deliver(path: string): Promise<ReceivedRequest> {
    receiver.clear();
    const published = await posthorn.call("POST", "/v1/events", {
      event_type: `rotation.${path.slice(1)}`,
      data: { at: path },
    });
    assert.equal(published.status, 202, JSON.stringify(published.body));
    const [request] = await receiver.waitForRequests(1);
    assert.ok(request !== undefined);
    return request;
  }

  test("TS16-24 TS16-68 TS16-76 graceful: the old secret before and during the overlap, the new one during and after", async () => {
    const { id, secret: oldSecret } = await createWebhook("/graceful");
    const first = await deliver("/graceful");
    assert.equal(verifies(oldSecret, first), true, "before the rotation");

    const rotated = await posthorn.call("POST", `/v1/webhooks/${id}/secret/rotate`, {
      mode: "graceful",
      overlap_seconds: 10,
    });
    assert.equal(rotated.status, 200, JSON.stringify(rotated.body));
    const newSecret = (rotated.body as { secret: string }).secret;
    assert.notEqual(newSecret, oldSecret);
    const rotatedAt = performance.now();
    const during = await deliver("/graceful");
    assert.equal(verifies(oldSecret, during), true, "the old secret during the overlap");
    assert.equal(verifies(newSecret, during), true, "the new secret during the overlap");

    const again = await posthorn.call("POST", `/v1/webhooks/${id}/secret/rotate`, { mode: "graceful" });
    assert.equal(again.status, 409, "a second rotation waits for the overlap");

    let afterwards = during;
    while (verifies(oldSecret, afterwards)) {
      assert.ok(performance.now() - rotatedAt < 60_000, "the overlap of ten seconds ends by itself");
      afterwards = await deliver("/graceful");
      assert.equal(verifies(newSecret, afterwards), true, "the new secret always");
    }
    assert.ok(performance.now() - rotatedAt >= 9_900, "the overlap lasts as long as asked");
  });

  test("TS16-69 revoke: a retry of an older event carries the new key only", async () => {
    const { id, secret: oldSecret } = await createWebhook("/revoke");
    receiver.clear();
    await posthorn.call("PATCH", `/v1/webhooks/${id}`, { retry_config: { schedule_ms: [700, 700] } });
    const refused = Promise.withResolvers<Answer>();
    let requests = 0;
    receiver.script(() => (++requests === 1 ? refused.promise : {}));
    const first = await deliver("/revoke");
    assert.equal(verifies(oldSecret, first), true);
    const rotated = await posthorn.call("POST", `/v1/webhooks/${id}/secret/rotate`, { mode: "revoke" });
    refused.resolve({ status: 500 });
    const newSecret = (rotated.body as { secret: string }).secret;
    const retry = (await receiver.waitForRequests(2))[1];
    assert.ok(retry !== undefined);
    assert.equal(retry.headers["webhook-id"], first.headers["webhook-id"]);
    assert.equal(verifies(oldSecret, retry), false, "the revoked key must not sign the retry");
    assert.equal(verifies(newSecret, retry), true);
  });

  test("TS16-67 TS16-79 the Ed25519 signature verifies with the published key, and the lists are well-formed", async () => {
    const { id, secret } = await createWebhook("/ed25519");
    const request = await deliver("/ed25519");
    const published = await posthorn.call("GET", `/v1/webhooks/${id}/public-key`);
    const key = (published.body as { public_key: string }).public_key;
    const headers = request.headers as Record<string, string>;
    assert.equal(rejectionBy(key, headers, request.body, Math.floor(Date.now() / 1000), 300), null);
    const signature = String(request.headers["webhook-signature"]);
    assert.match(signature, /^v1a,[A-Za-z0-9+/]+=* v1,[A-Za-z0-9+/]+=*$/);
    assert.equal(verifies(secret, request), true);
  });
});
