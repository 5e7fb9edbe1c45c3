/**
 * One event for thousands of webhooks. The process is killed after it has written the first part that follows the
 * event's transaction.
 */
import assert from "node:assert/strict";
import { itemsOf, type Json, textOf } from "./api/client.fixture.ts";
import { eventually } from "./eventually.fixture.ts";

/** The event is first stored with 2,048 deliveries. The remaining deliveries follow in two parts: 2,048 and six. */
export const webhookCount = 2 * 2_048 + 6;
export const partsAtFirst = 2;

export type Call = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<{ readonly status: number; readonly body: unknown }>;

/** Creates a webhook that can be copied. The tenant's key signs for it, so the copies need no keys. */
export async function addTemplate(call: Call, url: string): Promise<string> {
  const webhook = { url, events: ["order.*"], profile: "event-delivery" };
  // On a busy machine, a commit may take longer than the store's time limit.
  const { status, body } = await eventually("the webhook is created", {
    ask: () => call("POST", "/v1/webhooks", webhook),
    holds: (reply) => reply.status !== 503,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return textOf((body as Json)["id"]);
}

/**
 * SQL that copies the row of a webhook until `webhookCount` webhooks exist. Creating each of them through the API would
 * take milliseconds. `n` numbers the rows of `series`.
 */
export function copiesSql(
  id: string,
  { table, series }: { readonly table: string; readonly series: string },
) {
  const copy = `substr(id, 1, 24) || substr('000000000000' || n, -12)`;
  return `INSERT INTO ${table} (id, tenant, document)
    SELECT ${copy}, tenant, replace(document, id, ${copy}) FROM ${table}, ${series} WHERE id = '${id}'`;
}

export async function publish(call: Call): Promise<string> {
  // On a busy machine, a commit may take longer than the store's time limit.
  const { status, body } = await eventually("the event is accepted", {
    ask: () => call("POST", "/v1/events", { event_type: "order.paid", data: { n: 1 } }),
    holds: (reply) => reply.status !== 503,
  });
  assert.equal(status, 202, JSON.stringify(body));
  const receipt = body as Json;
  assert.deepEqual(
    [Number(receipt["deliveries"]), Number(receipt["deliveries_following"])],
    [webhookCount, webhookCount - 2_048],
  );
  return textOf(receipt["id"]);
}

/** Checks that every part is written and that each webhook has one delivery of the event. */
export async function everyWebhookHasOne(
  call: Call,
  { eventId, partsLeft }: { readonly eventId: string; readonly partsLeft: () => Promise<number> },
): Promise<void> {
  await eventually("every part is written", { ask: partsLeft, holds: (parts) => parts === 0 });
  const rows = await listed(call, eventId);
  assert.equal(rows.length, webhookCount);
  assert.equal(new Set(rows.map(({ id }) => id)).size, webhookCount, "no delivery is listed twice");
  assert.equal(new Set(rows.map(({ webhookId }) => webhookId)).size, webhookCount, "one for each webhook");
  const event = (await call("GET", `/v1/events/${eventId}`)).body as Json;
  assert.equal(Number(event["deliveries"]), webhookCount);
}

async function listed(call: Call, eventId: string) {
  const rows: { readonly id: string; readonly webhookId: string }[] = [];
  for (let cursor = ""; ; ) {
    const { status, body } = await call("GET", `/v1/deliveries?event_id=${eventId}&limit=250${cursor}`);
    assert.equal(status, 200, JSON.stringify(body));
    const page = body as Json;
    for (const row of itemsOf(page["data"]))
      rows.push({
        id: textOf(row["id"]),
        webhookId: textOf(row["webhook_id"]),
      });
    const next = page["next_cursor"] as unknown;
    if (typeof next !== "string") return rows;
    cursor = `&cursor=${next}`;
  }
}
