import assert from "node:assert/strict";
import { test } from "node:test";
import { assertProblem, itemsOf, textOf } from "./client.fixture.ts";
import type { Client, Json } from "./client.fixture.ts";

const anId = "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c";

/** Every filter of bulk actions, written out instead of derived. */
const bulkFilters: Readonly<Record<string, unknown>> = {
  webhook_id: [anId],
  event_id: anId,
  source_id: anId,
  tenant_id: "default",
  event_type: ["order.*"],
  status: ["pending", "failed", "exhausted", "cancelled"],
  failure_category: ["timeout"],
  http_status: ["422", "5xx", "none"],
  waiting_for: ["schedule"],
  origin: ["publish"],
  attempt_min: 2,
  error: "refused",
  idempotency_key: "order-4711",
  from: "2026-01-31T00:00:00.000Z",
  to: "2026-02-28T00:00:00.000Z",
};

/** Every filter of dead letters. */
const deadLetterFilters: Readonly<Record<string, unknown>> = {
  webhook_id: [anId],
  tenant_id: "default",
  event_type: ["order.paid"],
  failure_category: ["timeout", "dns"],
  from: "2026-01-31T00:00:00.000Z",
  to: "2026-02-28T00:00:00.000Z",
};

/** Filters that the engine stand-in does not support. */
export function storedListingsSuite(client: () => Client): void {
  for (const [path, filters] of [
    ["/v1/deliveries/retry-batch", bulkFilters],
    ["/v1/deliveries/cancel-batch", bulkFilters],
    ["/v1/dlq/discard-batch", deadLetterFilters],
  ] as const) {
    test(`${path} and the list of operations show each filter as requested`, async () => {
      for (const [name, value] of Object.entries(filters)) {
        // The client checks each response against the published schema.
        const filter = { [name]: value };
        const preview = await client().post(path, { filter, dry_run: true });
        assert.equal(preview.status, 202, preview.text);
        const started = await client().post(path, { filter });
        assert.equal(started.status, 202, started.text);
        for (const { body } of [preview, started]) assert.deepEqual(body["filter"]?.[name], value);
        const listed = await client().get("/v1/operations?limit=1");
        assert.deepEqual(itemsOf(listed.body["data"])[0]?.["filter"]?.[name], value);
      }
    });
  }

  test("WDS-112 a batch retry of dead letters is listed with each filter by its name in the listings", async () => {
    const { tenant_id: _, ...shown } = deadLetterFilters;
    const asked = new Map([
      ["webhook_id", "webhook_ids"],
      ["event_type", "event_types"],
      ["failure_category", "failure_categories"],
    ]);
    for (const [name, value] of Object.entries(shown)) {
      const filter = { [asked.get(name) ?? name]: value };
      const started = await client().post("/v1/dlq/retry-batch", { filter });
      assert.equal(started.status, 202, started.text);
      const listed = await client().get("/v1/operations?limit=1");
      assert.deepEqual(itemsOf(listed.body["data"])[0]?.["filter"]?.[name], value);
    }
  });

  test("webhooks by backlog are ordered by the counts that they show, even beyond a thousand", async () => {
    const ids: string[] = [];
    for (const [name, count] of [
      ["deep", 1_300],
      ["less", 1_100],
    ] as const) {
      const type = `backlog.${name}${Date.now()}`;
      const made = await client().post("/v1/webhooks", { url: "https://paused.example/", events: [type] });
      const id = textOf(made.body["id"]);
      ids.push(id);
      assert.equal((await client().post(`/v1/webhooks/${id}/pause`, {})).status, 200);
      for (let left = count; left > 0; left -= 1_000) {
        const events = Array.from({ length: Math.min(left, 1_000) }, () => ({ event_type: type, data: {} }));
        assert.equal((await client().post("/v1/events/batch", { events })).status, 202);
      }
    }
    const { body } = await client().get("/v1/webhooks?sort=backlog&include=backlog&limit=2");
    const shown = itemsOf(body["data"]).map((row) => [row["id"], row["backlog"]?.["total"]]);
    assert.deepEqual(shown, [
      [ids[0], 1_300],
      [ids[1], 1_100],
    ]);
    for (const id of ids) await client().call("DELETE", `/v1/webhooks/${id}`);
  });
}

export function listingsSuite(client: () => Client): void {
  const publishSome = async (): Promise<string> => {
    const type = `list${Date.now()}_${Math.floor(performance.now() * 1_000)}`;
    const events = Array.from({ length: 7 }, (_, n) => ({ event_type: type, data: { n: n + 1 } }));
    assert.equal((await client().post("/v1/events/batch", { events })).status, 202);
    return type;
  };

  test("cursors traverse a listing once, newest first, even while it grows", async () => {
    const type = await publishSome();
    const numbers: number[] = [];
    let cursor = "";
    do {
      const { status, body, text } = await client().get(`/v1/events?event_type=${type}&limit=3${cursor}`);
      assert.equal(status, 200, text);
      for (const event of itemsOf(body["data"])) numbers.push(Number(event["sequence_number"]));
      await client().post("/v1/events", { event_type: type, data: { late: true } });
      cursor = body["next_cursor"] === null ? "" : `&cursor=${textOf(body["next_cursor"])}`;
    } while (cursor !== "" && numbers.length < 20);
    assert.equal(numbers.length, 7);
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => b - a),
    );
  });

  test("offset skips", async () => {
    const type = await publishSome();
    const { body } = await client().get(`/v1/events?event_type=${type}&limit=2&offset=5`);
    assert.equal(itemsOf(body["data"]).length, 2);
    assert.equal(body["next_cursor"], null);
  });

  test("a modified cursor, or one of another listing, is rejected", async () => {
    const type = await publishSome();
    const path = `/v1/events?event_type=${type}&limit=2`;
    const cursor = textOf((await client().get(path)).body["next_cursor"]);
    assert.match(cursor, /^[\w-]+$/);
    const flipped = `${cursor.slice(0, 10)}${cursor[10] === "A" ? "B" : "A"}${cursor.slice(11)}`;
    for (const bad of [
      flipped,
      cursor.slice(1),
      `${cursor}A`,
      "",
      "1",
      "..",
      "%00",
      Buffer.from("42").toString("base64url"),
    ]) {
      assertProblem(await client().get(`${path}&cursor=${bad}`), { status: 400, code: "invalid_cursor" });
    }
    assertProblem(await client().get(`/v1/events?limit=2&cursor=${cursor}`), {
      status: 400,
      code: "invalid_cursor",
    });
    assertProblem(await client().get(`/v1/dlq?cursor=${cursor}`), { status: 400, code: "invalid_cursor" });
    const other = client().withKey(await client().keyFor("read"));
    assertProblem(await other.get(`${path}&cursor=${cursor}`), { status: 400, code: "invalid_cursor" });
    assert.equal((await client().get(`${path}&cursor=${cursor}`)).status, 200);
  });

  test("TS16-120 filters by time accept dates and date-times", async () => {
    const type = await publishSome();
    const count = async (query: string): Promise<number> =>
      itemsOf((await client().get(`/v1/events?event_type=${type}&${query}`)).body["data"]).length;
    assert.equal(await count("from=2026-01-01"), 7);
    assert.equal(await count("to=2020-01-01T00:00:00Z"), 0);
    assert.equal(await count("from=2999-01-01T00:00:00%2B01:00"), 0);
  });

  test("WDS-103 webhooks are listed by activity, type and tenant", async () => {
    const type = `hook${Date.now()}`;
    const make = async (active: boolean): Promise<Json> =>
      (await client().post("/v1/webhooks", { url: "https://example.com/", events: [type], active })).body;
    const [on, off] = [await make(true), await make(false)];
    const ids = async (query: string): Promise<unknown[]> =>
      itemsOf((await client().get(`/v1/webhooks?event_type=${type}&limit=250&${query}`)).body["data"]).map(
        (row) => row["id"],
      );
    assert.deepEqual(await ids("active=true"), [on["id"]]);
    assert.deepEqual(await ids("active=false"), [off["id"]]);
    const tenant = `tenant-${type}`;
    await client().call("PUT", `/v1/tenants/${tenant}`, { body: {} });
    const other = await client().post("/v1/webhooks", {
      url: "https://example.com/",
      events: [type],
      tenant_id: tenant,
    });
    assert.equal(other.status, 201, other.text);
    assert.deepEqual(await ids(`tenant_id=${tenant}`), [other.body["id"]]);
    assert.deepEqual(await ids("tenant_id=default"), [off["id"], on["id"]]);
    await client().call("DELETE", `/v1/webhooks/${textOf(other.body["id"])}`);
    const page = (await client().get(`/v1/webhooks?event_type=${type}&limit=1`)).body;
    const next = await client().get(
      `/v1/webhooks?event_type=${type}&limit=1&cursor=${textOf(page["next_cursor"])}`,
    );
    assert.deepEqual(
      [page, next.body].map((body) => itemsOf(body["data"])[0]?.["id"]),
      [off["id"], on["id"]],
    );
    assert.equal(next.body["next_cursor"], null);
  });

  test("deliveries of all webhooks are filtered by several values together, and their pages have no gaps", async () => {
    const type = `found${Date.now()}`;
    const hook = async (path: string): Promise<string> => {
      const url = `https://example.com/${path}`;
      return textOf((await client().post("/v1/webhooks", { url, events: [`${type}.*`] })).body["id"]);
    };
    const [first, second] = [await hook("one"), await hook("two")];
    const events = Array.from({ length: 3 }, (_, n) => ({ event_type: `${type}.made`, data: { n: n + 1 } }));
    assert.equal((await client().post("/v1/events/batch", { events })).status, 202);
    const page = async (query: string): Promise<Json> => {
      const { status, text, body } = await client().get(`/v1/deliveries?${query}`);
      assert.equal(status, 200, text);
      return body;
    };
    const rows = async (query: string): Promise<readonly Json[]> => itemsOf((await page(query))["data"]);
    const both = `webhook_id=${first}&webhook_id=${second}`;
    assert.equal((await rows(both)).length, 6);
    assert.equal((await rows(`webhook_id=${first}&include=webhook,last_attempt`)).length, 3);
    const oldest = await rows(`${both}&order=oldest`);
    assert.deepEqual(
      (await rows(`${both}&order=newest`)).map((row) => row["id"]),
      oldest.map((row) => row["id"]).toReversed(),
    );
    const begun = await page(`${both}&limit=4`);
    assert.deepEqual([begun["complete"], typeof begun["searched_to"]], [true, "string"]);
    const rest = await page(`${both}&limit=4&cursor=${textOf(begun["next_cursor"])}`);
    assert.deepEqual(
      [itemsOf(rest["data"]).length, rest["next_cursor"], rest["searched_to"], rest["complete"]],
      [2, null, null, true],
    );
    const stolen = await client().get(
      `/v1/deliveries?webhook_id=${first}&cursor=${textOf(begun["next_cursor"])}`,
    );
    assertProblem(stolen, { status: 400, code: "invalid_cursor" });
    for (const [query, field] of [
      ["status=lost", "status[0]"],
      ["http_status=6xx", "http_status[0]"],
      ["order=random", "order"],
      ["include=secrets", "include[0]"],
      ["webhook_id=1", "webhook_id[0]"],
      ["error=", "error"],
    ] as const) {
      const refused = await client().get(`/v1/deliveries?${query}`);
      assertProblem(refused, { status: 400, code: "invalid_request" });
      assert.equal(itemsOf(refused.body["errors"])[0]?.["field"], field, refused.text);
    }
  });

  test("events are filtered by several patterns of types together", async () => {
    const type = `kept${Date.now()}`;
    const url = "https://example.com/kept";
    assert.equal((await client().post("/v1/webhooks", { url, events: [`${type}.heard`] })).status, 201);
    const publish = async (event: object): Promise<string> => {
      const reply = await client().post("/v1/events", { data: { n: 1 }, ...event });
      assert.equal(reply.status, 202, reply.text);
      return textOf(reply.body["id"]);
    };
    const heard = await publish({ event_type: `${type}.heard`, idempotency_key: type, source: type });
    const unheard = await publish({ event_type: `${type}.unheard`, data: { text: `in ${type}` } });
    const found = async (query: string): Promise<unknown[]> => {
      const { status, body, text } = await client().get(`/v1/events?${query}`);
      assert.equal(status, 200, text);
      assert.equal(body["complete"], true);
      return itemsOf(body["data"]).map((row) => row["id"]);
    };
    assert.deepEqual(await found(`event_type=${type}.*`), [unheard, heard]);
    assert.deepEqual(await found(`event_type=${type}.heard&event_type=${type}.never`), [heard]);
    assert.deepEqual(await found(`event_type=${type}.*&limit=1&offset=1`), [heard]);
  });

  test("small listings have pages too", async () => {
    for (const name of ["page.a", "page.b", "page.c"]) {
      const put = await client().call("PUT", `/v1/event-types/${name}`, { body: { description: name } });
      assert.ok([200, 201].includes(put.status), put.text);
    }
    const names: unknown[] = [];
    let cursor = "";
    do {
      const { body } = await client().get(`/v1/event-types?limit=1${cursor}`);
      names.push(...itemsOf(body["data"]).map((row) => row["name"]));
      cursor = body["next_cursor"] === null ? "" : `&cursor=${textOf(body["next_cursor"])}`;
    } while (cursor !== "");
    assert.equal(new Set(names).size, names.length);
    assert.ok(["page.a", "page.b", "page.c"].every((name) => names.includes(name)));
  });
}
