import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import {
  DuplicateEventError,
  InvalidRequestError,
  NotFoundError,
  openPosthorn,
  PosthornError,
  SettingsError,
} from "./library.ts";
import type { Posthorn } from "./library.ts";

async function withPosthorn(use: (posthorn: Posthorn, dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-library-"));
  const posthorn = await openPosthorn({ dataDir, dev: true });
  try {
    await use(posthorn, dataDir);
  } finally {
    await posthorn.close();
    await posthorn.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const event = { eventType: "order.completed", data: { orderId: "4711" } };

suite("library", () => {
  test("a duplicate throws with the id of the first event", () =>
    withPosthorn(async (posthorn) => {
      const first = await posthorn.publish({ ...event, idempotencyKey: "k" });
      await assert.rejects(posthorn.publish({ ...event, idempotencyKey: "k" }), (error: unknown) => {
        assert.ok(error instanceof DuplicateEventError);
        assert.equal(error.eventId, first.id);
        assert.equal(error.code, "conflict");
        return true;
      });
    }));

  test("in a batch every event has an answer of its own", () =>
    withPosthorn(async (posthorn) => {
      await posthorn.publish({ ...event, idempotencyKey: "k" });
      const entries = await posthorn.publishMany([
        event,
        { ...event, idempotencyKey: "k" },
        { eventType: "not a type", data: { a: 1 } },
      ]);
      assert.deepEqual(
        entries.map(({ kind }) => kind),
        ["published", "refused", "refused"],
      );
      assert.ok(entries[1]?.kind === "refused" && entries[1].error instanceof DuplicateEventError);
      assert.ok(entries[2]?.kind === "refused" && entries[2].error instanceof InvalidRequestError);
    }));

  test("EDS-2-1 bytes of any media type are published as they were when the call was made", () =>
    withPosthorn(async (posthorn) => {
      const body = Uint8Array.of(0, 255, 60);
      const publishing = posthorn.publish({
        eventType: "order.scanned",
        raw: { contentType: "image/x-scan", body },
      });
      body.fill(1);
      const event = await posthorn.events.get((await publishing).id);
      assert.deepEqual([...(event.body ?? [])], [0, 255, 60]);
      assert.equal(event.contentType, "image/x-scan");
      assert.equal(event.raw, true);
      for (const raw of [{}, null, "text", { contentType: "text/plain", body: "text" }]) {
        const refused = posthorn.publish({ eventType: "order.scanned", raw } as never);
        await assert.rejects(refused, InvalidRequestError);
      }
    }));

  test("WDS-102 a webhook that does not pass its challenge is not made", () =>
    withPosthorn(async (posthorn) => {
      const input = { url: "http://127.0.0.1:9/", events: ["*"], verifyUrl: true };
      await assert.rejects(posthorn.webhooks.create(input), (error: unknown) => {
        assert.ok(error instanceof PosthornError && error.code === "verification_failed");
        assert.deepEqual(
          error.fields.map(({ field }) => field),
          ["url"],
        );
        return true;
      });
      const page = { active: null, eventType: null, tenantId: null, limit: 10, offset: 0, after: null };
      assert.deepEqual((await posthorn.webhooks.list(page)).views, []);
      const made = await posthorn.webhooks
        .create({ ...input, verifyUrl: false, verification: "challenge" })
        .catch(() => null);
      assert.equal(made, null, "both say the same");
    }));

  test("services act without a scope, and there is no server unless asked for", () =>
    withPosthorn(async (posthorn) => {
      assert.equal(posthorn.url, null);
      const { view, secret } = await posthorn.webhooks.create({
        url: "http://127.0.0.1:1/",
        events: ["x.*"],
      });
      assert.match(String(secret), /^whsec_/);
      assert.equal((await posthorn.webhooks.get(view.webhook.id)).webhook.id, view.webhook.id);
      await assert.rejects(posthorn.webhooks.get("00000000-0000-7000-8000-000000000000"), NotFoundError);
      assert.equal((await posthorn.tenants.list())[0]?.id, "default");
      assert.match(await posthorn.metrics(), /^posthorn_webhooks 1$/m);
    }));

  test("WDS-200 WDS-201 the largest payload is a setting, and what is larger is told both sizes", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "posthorn-library-"));
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rmSync(dataDir, { recursive: true, force: true }));
    const posthorn = await openPosthorn({ dataDir, dev: true, payloadBytesMax: 2_000 });
    stack.defer(() => posthorn.close());
    const dataOf = (bytes: number) => ({ text: "x".repeat(bytes - '{"text":""}'.length) });
    await posthorn.publish({ eventType: "order.big", data: dataOf(2_000) });
    await assert.rejects(posthorn.publish({ eventType: "order.big", data: dataOf(2_001) }), {
      code: "payload_too_large",
      message: /2001.*2000/,
    });
  });

  test("options are checked like settings", async () => {
    await assert.rejects(openPosthorn({ port: 99_999, prot: 1 } as object), (error: unknown) => {
      assert.ok(error instanceof SettingsError);
      assert.equal(error.problems.length, 2);
      assert.match(error.message, /did you mean port\?/);
      return true;
    });
  });

  test("a folder that is in use is refused, and what had started is undone", () =>
    withPosthorn(async (posthorn, dataDir) => {
      await assert.rejects(openPosthorn({ dataDir }), /in use by process/);
      await posthorn.publish(event);
    }));

  test("listens when asked to, and ends with close", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "posthorn-library-"));
    const posthorn = await openPosthorn({ dataDir, listen: true, port: 0 });
    const url = String(posthorn.url);
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    await posthorn.close();
    await assert.rejects(fetch(`${url}/readyz`));
    rmSync(dataDir, { recursive: true, force: true });
  });
});
