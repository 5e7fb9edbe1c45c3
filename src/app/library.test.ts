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
import type { List, Posthorn, PublishInput, WebhookView } from "./library.ts";
import { startReceiver } from "../../test/peers/receiver.ts";

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
  test("WDS-114 WDS-115 a duplicate throws with the id of the first event", () =>
    withPosthorn(async (posthorn) => {
      const first = await posthorn.publish({ ...event, idempotencyKey: "k" });
      await assert.rejects(posthorn.publish({ ...event, idempotencyKey: "k" }), (error: unknown) => {
        assert.ok(error instanceof DuplicateEventError);
        assert.equal(error.eventId, first.id);
        assert.equal(error.code, "conflict");
        return true;
      });
    }));

  test("each event of a batch has its own result", () =>
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

  test("data and metadata given as JSON text are sent and kept unchanged", () =>
    withPosthorn(async (posthorn) => {
      const receiver = await startReceiver();
      await posthorn.webhooks.create({ url: receiver.url(), events: ["*"] });
      const dataJson = `{ "10": 9007199254740993, "2": [-0, 1e400, ${"9".repeat(400)}], "\\u0061": 1.0 }`;
      const text = { eventType: "order.completed", dataJson: ` ${dataJson}\n`, metadataJson: '{"n":1.0}' };
      const { id } = await posthorn.publish(text);
      const [received] = await receiver.waitForRequests(1);
      assert.ok(received !== undefined);
      assert.ok(received.text.endsWith(`,"data":${dataJson},"metadata":{"n":1.0}}`));
      assert.deepEqual(Buffer.from((await posthorn.events.get(id)).body ?? []), received.body);
      await receiver.close();
    }));

  test("invalid JSON text, or JSON text together with a value, is rejected with the name of the option", () =>
    withPosthorn(async (posthorn) => {
      const refused: readonly (readonly [PublishInput, field: string | undefined])[] = [
        [{ eventType: "a", dataJson: '{"n":1,"n":1}' }, "data.n"],
        [{ eventType: "a", dataJson: '{"n":' }, undefined],
        [{ eventType: "a", dataJson: "[]" }, "data"],
        [{ eventType: "a", dataJson: 5 as unknown as string }, "dataJson"],
        [{ eventType: "a", dataJson: "{}", data: {} }, "data"],
        [{ eventType: "a", dataJson: `{"n":"${"x".repeat(262_144)}"}` }, undefined],
        [{ eventType: "a", data: { n: 1 }, metadataJson: '{"n":1,"n":1}' }, "metadata.n"],
        [{ eventType: "a", data: new Date(0) }, "data"],
      ];
      for (const [index, entry] of (await posthorn.publishMany(refused.map(([input]) => input))).entries()) {
        assert.ok(entry.kind === "refused", `entry ${index}`);
        assert.equal(entry.error.fields[0]?.field, refused[index]?.[1], `entry ${index}`);
      }
    }));

  test("EDS-2-1 bytes of any media type are published as they were at the time of the call", () =>
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

  test("WDS-102 a webhook that fails its challenge is not created", () =>
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
      assert.deepEqual((await posthorn.webhooks.list()).rows, []);
      const made = await posthorn.webhooks
        .create({ ...input, verifyUrl: false, verification: "challenge" })
        .catch(() => null);
      assert.equal(made, null, "both say the same");
    }));

  test("services act without a scope, and no server starts unless requested", () =>
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

  test("every list accepts the same query and returns the same page shape, without required nulls", () =>
    withPosthorn(async (posthorn) => {
      const { webhooks, events, deliveries, deadLetters, eventTypes, tenants, apiKeys } = posthorn;
      const { view } = await webhooks.create({ url: "http://127.0.0.1:1/", events: ["x.*"] });
      const { view: other } = await webhooks.create({ url: "http://127.0.0.1:1/", events: ["y.*"] });
      const webhookId = view.webhook.id;
      const ids = [];
      for (let cursor: string | null | undefined = undefined; cursor !== null; ) {
        const page: List<WebhookView> = await webhooks.list({ limit: 1, cursor });
        ids.push(...page.rows.map(({ webhook }) => webhook.id));
        cursor = page.next;
      }
      assert.deepEqual(ids, [other.webhook.id, webhookId]);
      const published = [];
      for (let count = 0; count < 3; count += 1)
        published.unshift((await posthorn.publish({ eventType: "x.y", data: { count } })).id);
      const first = await events.list({ limit: 2, eventTypes: ["x.*"] });
      const rest = await events.list({ limit: 2, eventTypes: ["x.*"], cursor: first.next ?? "" });
      assert.deepEqual(
        [...first.rows, ...rest.rows].map(({ id }) => id),
        published,
      );
      assert.equal(rest.next, null);
      const [eventId = ""] = published;
      assert.equal((await events.deliveries({ eventId })).rows.length, 1);
      const { rows: matched } = await events.matches({ eventId, limit: 1 });
      assert.deepEqual([matched.length, matched[0]?.reason], [1, "other_type"]);
      assert.equal((await deliveries.listOfWebhook({ webhookId, limit: 1 })).rows.length, 1);
      const found = await deliveries.list({ webhookIds: [webhookId], eventTypes: ["x.*"], limit: 2 });
      const others = await deliveries.list({
        webhookIds: [webhookId],
        eventTypes: ["x.*"],
        cursor: found.next ?? "",
      });
      assert.equal(found.rows.length + others.rows.length, 3);
      assert.deepEqual([others.next, others.isComplete, others.searchedTo], [null, true, null]);
      assert.deepEqual((await deadLetters.list()).rows, []);
      assert.equal((await deadLetters.retryBatch({ dryRun: true })).count, 0);
      assert.equal((await webhooks.recover({ id: webhookId, since: 0, dryRun: true })).count, 0);
      assert.notEqual((await webhooks.rotateSecret({ id: webhookId })).previous, null);
      assert.equal((await events.replay({ eventId })).length, 1);
      await eventTypes.put({ name: "x.y" });
      assert.equal((await eventTypes.get({ name: "x.y" })).name, "x.y");
      assert.equal((await tenants.list()).length, 1);
      assert.equal((await apiKeys.create({ name: "ci", role: "admin" })).apiKey.tenantId, null);
    }));

  test("an invalid call is rejected with the library's names", () =>
    withPosthorn(async (posthorn) => {
      const { webhooks, deadLetters, deliveries } = posthorn;
      const fieldsOf = async (call: Promise<unknown>): Promise<string> => {
        const error: unknown = await call.then(
          () => assert.fail("it was taken"),
          (reason: unknown) => reason,
        );
        assert.ok(error instanceof PosthornError, String(error));
        assert.doesNotMatch(error.message + JSON.stringify(error.fields), /[a-z]_[a-z]/);
        return error.fields.map(({ field }) => field).join();
      };
      const page = { limit: 10, before: null, offset: 0 };
      assert.equal(await fieldsOf(webhooks.list({ page } as never)), "page");
      assert.equal(await fieldsOf(deadLetters.list({ page } as never)), "page");
      assert.equal(await fieldsOf(deliveries.listOfWebhook({} as never)), "webhookId");
      assert.equal(await fieldsOf(deliveries.list({ httpStatuses: ["6xx"] })), "httpStatuses[0]");
      await assert.rejects(deliveries.list({ cursor: "nonsense" }), { code: "invalid_cursor" });
      assert.equal(await fieldsOf(webhooks.list({ limit: 1_000 })), "limit");
      assert.equal(await fieldsOf(posthorn.events.list({ from: "today" as never })), "from");
      assert.equal(await fieldsOf(posthorn.publish({ eventType: "", data: { a: 1 } })), "eventType");
      const hook = { url: "http://127.0.0.1:1/", events: ["x.*"] };
      const rateLimit = { requestsPerMinute: -1, burst: 1 };
      assert.match(await fieldsOf(webhooks.create({ ...hook, rateLimit })), /^rateLimit/);
      assert.match(await fieldsOf(webhooks.create({ ...hook, retry: { maxAttempts: -1 } })), /^retry\./);
      assert.equal(await fieldsOf(deadLetters.retryBatch({ requestsPerSecond: -1 })), "requestsPerSecond");
      await assert.rejects(posthorn.events.list({ cursor: "nonsense" }), { code: "invalid_cursor" });
      // @ts-expect-error a filter of another list
      await assert.rejects(posthorn.events.list({ status: "pending" }), InvalidRequestError);
      // @ts-expect-error a required field is missing
      await assert.rejects(webhooks.recover({ id: "1" }), InvalidRequestError);
    }));

  test("WDS-200 WDS-201 WDS-116 the payload limit is a setting, and the error for a larger payload gives both sizes", async () => {
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

  test("a folder in use is rejected, and earlier startup steps are undone", () =>
    withPosthorn(async (posthorn, dataDir) => {
      await assert.rejects(openPosthorn({ dataDir }), /in use by process/);
      await posthorn.publish(event);
    }));

  test("listens if requested, and stops on close", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "posthorn-library-"));
    const posthorn = await openPosthorn({ dataDir, listen: true, port: 0 });
    const url = String(posthorn.url);
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    await posthorn.close();
    await assert.rejects(fetch(`${url}/readyz`));
    rmSync(dataDir, { recursive: true, force: true });
  });
});
