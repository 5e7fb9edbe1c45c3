/**
 * The signing key of a stored webhook is missing, for example because rows were lost. The server must still start, and
 * deliveries that cannot be signed must wait.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { openPosthorn, type Posthorn } from "../../src/app/library.ts";
import { type Receiver, startReceiver } from "../peers/receiver.ts";
import { itemsOf, type Json, textOf } from "./api/client.fixture.ts";
import { eventually } from "./eventually.fixture.ts";
import { PosthornProcess } from "./posthorn-process.fixture.ts";

const adminKey = "k".repeat(40);

interface Scene {
  readonly dataDir: string;
  readonly receiver: Receiver;
  open(): Promise<Posthorn>;
}

async function openScene(t: TestContext): Promise<Scene> {
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-no-key-"));
  const receiver = await startReceiver();
  t.after(async () => {
    await receiver.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return {
    dataDir,
    receiver,
    open: async () => {
      const posthorn = await openPosthorn({
        dataDir,
        dev: true,
        listen: true,
        port: 0,
        logLevel: "error",
        adminKey,
      });
      t.after(() => posthorn.close());
      return posthorn;
    },
  };
}

/** Deletes all signing keys of an owner, which is either a webhook or a tenant whose webhooks share the keys. */
function loseKeys(dataDir: string, owner: string): void {
  const database = new DatabaseSync(join(dataDir, "posthorn.db"));
  const { changes } = database.prepare("DELETE FROM secrets WHERE owner = ?").run(owner);
  database.close();
  assert.ok(Number(changes) > 0);
}

async function waitOf({ url }: Posthorn, eventId: string): Promise<Json> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const list = await fetch(`${url}/v1/events/${eventId}/deliveries`, { headers });
  const { data } = (await list.json()) as { readonly data: readonly { readonly id: string }[] };
  const answer = await fetch(`${url}/v1/deliveries/${data[0]?.id}`, { headers });
  return (await answer.json()) as Json;
}

for (const { scheme, owner } of [
  { scheme: "v1", owner: (webhookId: string) => webhookId },
  { scheme: "v1a", owner: () => "default" },
] as const)
  test(`TS16-57 without a key for ${scheme} nothing is sent, other webhooks are served, and a new secret ends the wait`, async (t) => {
    const { dataDir, receiver, open } = await openScene(t);
    const before = await open();
    const { view } = await before.webhooks.create({
      url: receiver.url("/signed"),
      events: ["order.*"],
      schemes: [scheme],
    });
    const { id } = view.webhook;
    await before.webhooks.create({ url: receiver.url("/other"), events: ["shop.*"] });
    const earlier = await before.publish({ eventType: "order.paid", data: { id: 0 } });
    await receiver.waitForRequests(1);
    receiver.clear();
    await before.close();
    loseKeys(dataDir, owner(id));

    const posthorn = await open();
    const { id: eventId } = await posthorn.publish({ eventType: "order.paid", data: { id: 1 } });
    await posthorn.publish({ eventType: "shop.opened", data: { id: 2 } });
    await receiver.waitForRequests(1);
    assert.deepEqual(
      receiver.requests.map(({ path }) => path),
      ["/other"],
    );
    const delivery = await waitOf(posthorn, eventId);
    assert.deepEqual([delivery["status"], delivery["waiting_for"]], ["pending", "no_signing_key"]);
    const [gate] = itemsOf(delivery["gates"]);
    assert.match(textOf(gate?.["cause"]), /no signing key/);
    const remedy = gate?.["remedy"];
    assert.equal(remedy?.["path"], `/v1/webhooks/${id}/secret/rotate`);
    const deliveryId = textOf((await waitOf(posthorn, earlier.id))["id"]);
    const request = await fetch(`${posthorn.url}/v1/deliveries/${deliveryId}/attempts/1/request`, {
      headers: { authorization: `Bearer ${adminKey}` },
    });
    assert.equal(request.status, 409, await request.text());

    await posthorn.webhooks.rotateSecret({ id });
    await receiver.waitForRequests(2);
    const sent = receiver.requests.find(({ path }) => path === "/signed");
    assert.match(String(sent?.headers["webhook-signature"]), new RegExp(`^${scheme},`));
    await eventually("it is delivered", {
      ask: () => waitOf(posthorn, eventId),
      holds: ({ status }) => textOf(status) === "success",
    });
  });

test("the startup log names a webhook without a key, and what to do", async (t) => {
  const server = await PosthornProcess.start();
  t.after(() => server.remove());
  const webhook = { url: "http://127.0.0.1:9/", events: ["order.*"], profile: "x-webhook" };
  const { id } = (await server.call("POST", "/v1/webhooks", webhook)).body as { readonly id: string };
  await server.stop();
  loseKeys(server.dataDir, id);
  await server.start();
  const line = server.output.split("\n").find((each) => each.includes(id));
  assert.match(line ?? "", /no signing key.*secret\/rotate/);
});
