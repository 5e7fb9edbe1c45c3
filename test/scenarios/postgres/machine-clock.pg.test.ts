import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../src/system/clock.ts";
import { createTestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { createClient, textOf } from "../api/client.fixture.ts";
import { openServer } from "../api/running-server.fixture.ts";
import { eventually } from "../eventually.fixture.ts";

const behindMs = 90_000;

test("a server whose machine is 90 s slow uses the clock of its database, and reports the difference", async (t) => {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const database = await createTestDatabase();
  stack.defer(() => database.drop());
  t.mock.method(systemClock, "now", () => Date.now() - behindMs);
  const masterKey = Buffer.alloc(32, 7).toString("base64");
  const server = await openServer({ databaseUrl: database.url, masterKey });
  stack.defer(() => server.close());
  const client = createClient({ baseUrl: server.baseUrl, key: server.adminKey });
  // On a busy machine, the first comparison of the clocks may fail.
  const behind = await eventually("events are of the database's time", {
    ask: async () => {
      const sinceMs = Date.now();
      const { text, body } = await client.post("/v1/events", { event_type: "order.paid", data: { n: 1 } });
      assert.ok("timestamp" in body, text);
      return sinceMs - Date.parse(textOf(body["timestamp"]));
    },
    holds: (ms) => ms < behindMs / 2,
  });
  assert.ok(behind > -behindMs / 2);
  const metrics = (await client.get("/metrics")).text;
  const [, seconds] = /^posthorn_clock_offset_seconds (\S+)$/m.exec(metrics) ?? [];
  assert.ok(Math.abs(Number(seconds) - behindMs / 1_000) < 10, `${seconds} s`);
});
