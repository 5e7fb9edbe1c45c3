/** Floods of unauthenticated requests: their cost is limited, and authenticated senders are not affected. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { Agent, request as httpRequest } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type { LogFields } from "../../../src/ports/telemetry.ts";
import { startPosthorn, type RunningPosthorn } from "../../../src/app/posthorn.ts";
import { resolveValues } from "../../../src/config/resolve.ts";
import { type Receiver, startReceiver } from "../../peers/receiver.ts";
import { type Client, createClient } from "../api/client.fixture.ts";
import { hookOf, type Json, type MadeSource, makeSource, type SentHeaders, signed } from "./scene.fixture.ts";

const requests = 8_000;

suite("floods of unauthenticated requests", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-flood-"));
  const lines: { readonly message: string; readonly fields: LogFields }[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: 40 });
  let running: RunningPosthorn;
  let admin: Client;
  let receiver: Receiver;

  before(async () => {
    const note = (fields: LogFields, message: string): void => void lines.push({ fields, message });
    const log = { debug: () => undefined, info: () => undefined, warn: note, error: note };
    const resolution = resolveValues({ dataDir, port: 0, dev: true, trustedProxies: ["127.0.0.1/32"] });
    assert.equal(resolution.kind, "resolved");
    [running, receiver] = await Promise.all([startPosthorn(resolution.settings, { log }), startReceiver()]);
    admin = createClient({ baseUrl: running.url ?? "", key: running.adminKey });
  });
  after(async () => {
    agent.destroy();
    await running.stop();
    await receiver.close();
    rmSync(dataDir, { recursive: true });
  });

  /** Sends a request whose client address is the one that this test's trusted proxy reports. */
  const send = (
    url: string,
    {
      body,
      from,
      headers = {},
    }: { readonly body: string; readonly from: string; readonly headers?: SentHeaders },
  ): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = { "content-length": String(Buffer.byteLength(body)), "x-forwarded-for": from, ...headers };
      const request = httpRequest(url, { method: "POST", agent, headers: sent }, (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode ?? 0));
      });
      request.on("error", reject);
      request.end(body);
    });
  const rowsOf = async (id: string): Promise<readonly Json[]> =>
    (await admin.get(`/v1/requests?source_id=${id}&limit=200`)).body["data"] as unknown as Json[];
  const bytesOf = (id: string): number => {
    const db = new DatabaseSync(join(dataDir, "posthorn.db"), { readOnly: true });
    try {
      const sql =
        "SELECT sum(length(document) + coalesce(length(body), 0)) AS bytes FROM gateway_requests WHERE source = ?";
      return Number(db.prepare(sql).get(id)?.["bytes"]);
    } finally {
      db.close();
    }
  };
  const flood = async (count: number, one: (n: number) => Promise<void>): Promise<void> => {
    let next = 0;
    const run = async (): Promise<void> => {
      while (next < count) await one((next += 1));
    };
    await Promise.all(Array.from({ length: 40 }, run));
  };

  test(`${requests.toLocaleString("en")} unsigned requests cost at most one MB, and signed ones are accepted and logged`, async () => {
    const source: MadeSource = await makeSource(admin, {
      mode: "pass_through",
      more: { party: "github" },
      webhooks: [hookOf(receiver)],
    });
    const url = `${running.url}/_webhooks/github?${"q".repeat(2_000)}`;
    const body = JSON.stringify({ padding: "p".repeat(9_000) });
    const padding = Object.fromEntries(
      Array.from({ length: 20 }, (_, n) => [`x-padding-${n}`, "h".repeat(500)]),
    );
    const statuses = new Map<number, number>();
    const genuine: number[] = [];
    lines.length = 0;
    await flood(requests, async (n) => {
      const status = await send(url, { body, from: "192.0.2.7", headers: padding });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (n % 400 !== 0) return;
      const message = JSON.stringify({ n });
      // Half of the messages come from the address of the flood, because a proxy may hide individual senders.
      const from = n % 800 === 0 ? "192.0.2.7" : "198.51.100.9";
      genuine.push(await send(source.address, { body: message, from, headers: signed(message) }));
    });
    assert.deepEqual(
      genuine,
      Array.from({ length: 20 }, () => 200),
    );
    assert.deepEqual(
      [...statuses.keys()].toSorted((a, b) => a - b),
      [401, 429],
    );
    const rows = await rowsOf(source.id);
    assert.equal(rows.filter(({ outcome }) => outcome === "accepted").length, 20);
    const refused = rows.filter(({ outcome }) => outcome === "rejected");
    const counted = refused.reduce((sum, { more_count: more }) => sum + 1 + Number(more), 0);
    assert.equal(counted, requests, "what has no row is counted at one that has");
    for (const cause of ["missing_header", "too_many_failures"])
      assert.ok(
        refused.some((row) => row["rejection_cause"] === cause && Number(row["more_count"]) > 0),
        cause,
      );
    assert.ok(bytesOf(source.id) < 1_000_000, `${bytesOf(source.id)} bytes`);
    const warned = lines.filter(({ message }) => message.startsWith("a message to the gateway"));
    assert.ok(warned.length >= 1 && warned.length <= 4, `${warned.length} log lines`);
  });

  test("endless wrong signatures cost at most one MB, and do not affect a sender at another address", async () => {
    const source = await makeSource(admin, { mode: "store_and_forward", webhooks: [hookOf(receiver)] });
    const body = JSON.stringify({ padding: "p".repeat(9_000) });
    const wrong = { "x-hub-signature-256": `sha256=${"0".repeat(64)}` };
    const statuses = new Set<number>();
    await flood(1_500, async (n) => {
      statuses.add(await send(source.address, { body, from: "192.0.2.8", headers: wrong }));
      if (n % 300 !== 0) return;
      const message = JSON.stringify({ n });
      const from = `2001:db8::${n}`;
      assert.equal(await send(source.address, { body: message, from, headers: signed(message) }), 202);
    });
    assert.deepEqual(
      [...statuses].toSorted((a, b) => a - b),
      [401, 429],
    );
    assert.ok(bytesOf(source.id) < 1_000_000);
  });

  test("endless 405, 413 and 503 are limited and counted too", async () => {
    const more = { body_bytes_max: 10 };
    const source = await makeSource(admin, { mode: "pass_through", more, webhooks: [hookOf(receiver)] });
    await flood(100, async () => {
      assert.equal(await send(source.address, { body: "x".repeat(100), from: "192.0.2.9" }), 413);
    });
    await admin.call("PATCH", `/v1/sources/${source.id}`, { body: { active: false } });
    await flood(100, async () => {
      assert.equal(await send(source.address, { body: "x", from: "192.0.2.9" }), 503);
    });
    const rows = await rowsOf(source.id);
    assert.ok(rows.length <= 40, `${rows.length} rows`);
    for (const cause of ["payload_too_large", "source_inactive"]) {
      const alike = rows.filter((row) => row["rejection_cause"] === cause);
      assert.equal(
        alike.reduce((sum, { more_count: n }) => sum + 1 + Number(n), 0),
        100,
      );
    }
  });
});
