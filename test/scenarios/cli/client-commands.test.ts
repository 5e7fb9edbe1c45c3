import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, suite, test } from "node:test";
import { eventually } from "../eventually.fixture.ts";
import { PosthornProcess } from "../posthorn-process.fixture.ts";
import { posthorn, posthornHere, RunningCommand, temporaryFolder } from "./command-line.fixture.ts";
import type { Args, RunOptions } from "./command-line.fixture.ts";

suite("client commands against a running server", () => {
  let server: PosthornProcess;
  let env: Record<string, string>;
  before(async () => {
    server = await PosthornProcess.start();
    env = { POSTHORN_URL: server.url, POSTHORN_KEY: server.adminKey };
  });
  after(() => server.remove());

  const run = (args: Args, options: RunOptions = {}) =>
    posthornHere(args, { ...options, env: { ...env, ...options.env } });
  async function object(args: Args, options: RunOptions = {}): Promise<Record<string, unknown>> {
    const { status, stdout, stderr } = await run([...args, "--json"], options);
    assert.equal(status, 0, stderr);
    assert.equal(stdout.trim().split("\n").length, 1);
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  test("publish, listen, and show the deliveries", async () => {
    const listener = new RunningCommand(["listen", "--register", "order.*", "--json"], { env });
    await listener.until(/registered webhook/);
    const receipt = await object(["publish", "order.completed", '{"order_id":"4711"}']);
    assert.equal(receipt["deliveries"], 1);
    await listener.until(/"verification":"verified"/);
    const delivery = JSON.parse(listener.stdout.trim()) as Record<string, unknown>;
    assert.equal(delivery["id"], receipt["id"]);
    assert.equal(delivery["type"], "order.completed");
    const table = await run(["events", "list"]);
    assert.match(table.stdout, /^ID +TYPE/);
    assert.match(table.stdout, new RegExp(String(receipt["id"])));
    const listed = await object(["events", "deliveries", String(receipt["id"])]);
    const human = await run(["deliveries", "get", String(listed["id"])]);
    assert.match(human.stdout, /status +success/);
    assert.match(human.stdout, /accepted +204/);
    const { status, stderr } = await listener.stop("SIGINT");
    assert.equal(status, 0);
    assert.match(stderr, /deleted webhook/);
    assert.match((await run(["webhooks", "list"])).stderr, /no webhooks/);
  });

  test("a filter is tried on the last requests, on one of them, and on a message", async () => {
    const address = (
      await run(["sources", "create", "shop", "--verification", '{"type":"none"}'])
    ).stdout.trim();
    for (const total of [50, 150]) await fetch(address, { method: "POST", body: `{"total":${total}}` });
    const [source, request] = [
      await object(["sources", "list"]),
      await object(["requests", "list", "--limit", "1"]),
    ];
    const tried = ["connections", "try-filter", '{"body":{"total":{"$gte":100}}}'];
    const last = await run([...tried, "--source", String(source["id"])]);
    assert.match(last.stdout, /^1 of the last 2 would be forwarded, 1 filtered out\nREQUEST/);
    assert.match(last.stdout, new RegExp(`${String(request["id"])} .* yes`));
    assert.match(last.stdout, / no .*body\.total\.\$gte/);
    const one = await run([...tried, "--request", String(request["id"])]);
    assert.match(one.stdout, /^the message would be forwarded\nCONDITION/);
    assert.match(one.stdout, /body\.total\.\$gte +yes +100 +150/);
    const given = await object([...tried, "--message", '{"body":{"total":7}}']);
    assert.deepEqual([given["matches"], given["rule"]], [false, "body.total.$gte"]);
    const none = await run(tried);
    assert.notEqual(none.status, 0);
    assert.match(none.stderr, /request_id/);
    assert.match((await run(["connections", "try-filter", "{", "--message", "{}"])).stderr, /not valid JSON/);
  });

  test("a receiver that has not answered yet is asked again", async () => {
    const made = await object([
      "webhooks",
      "create",
      "http://127.0.0.1:9/",
      "--events",
      "never.sent",
      "--verification",
      "cloudevents",
    ]);
    assert.equal(made["status"], "unverified");
    const dns = await run([
      "webhooks",
      "create",
      "https://example.invalid/",
      "--events",
      "a.b",
      "--verification",
      "dns",
    ]);
    assert.match(dns.stderr, /nothing is sent until the receiver is verified: /);
    const { status, stdout, stderr } = await run(["webhooks", "verify", String(made["id"])]);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /status +unverified/);
    assert.match(stderr, /verification pending: OPTIONS got no response/);
    await object(["webhooks", "delete", String(made["id"]), "--yes"]);
    const refused = await run(["webhooks", "verify", String(made["id"])]);
    assert.equal(refused.status, 1);
  });

  test("a webhook without a shared secret is created and rotated, showing its public key", async () => {
    const create = ["webhooks", "create", "https://example.com/hooks", "--events", "never.sent"];
    const { stdout, stderr: told } = await run([...create, "--profile", "ts-16a", "--json"]);
    assert.match(told, /receivers verify messages with the public key whpk_/);
    const made = JSON.parse(stdout) as Record<string, unknown>;
    const { status, stderr } = await run(["webhooks", "rotate", String(made["id"])]);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /new key pair\. Public key: whpk_/);
    await object(["webhooks", "delete", String(made["id"]), "--yes"]);
  });

  test("listen forwards requests and returns the response", async () => {
    const received: string[] = [];
    const target = createServer((request, response) => {
      received.push(String(request.headers["webhook-id"]));
      response.writeHead(202).end();
    });
    await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
    const { port } = target.address() as AddressInfo;
    const listener = new RunningCommand(["listen", "--register", "invoice.*", "--forward-to", String(port)], {
      env,
    });
    await listener.until(/registered webhook/);
    const receipt = await object(["publish", "invoice.paid", "-"], { input: '{"id":1}' });
    await listener.until(/verified v1 {2}responded with 202/);
    assert.deepEqual(received, [receipt["id"]]);
    await listener.stop();
    await new Promise((resolve) => target.close(resolve));
  });

  test("listen forwards to a program that listens only on ::1, and says why it cannot", async () => {
    const target = createServer((_, response) => void response.writeHead(202).end());
    await new Promise<void>((resolve) => target.listen(0, "::1", resolve));
    const { port } = target.address() as AddressInfo;
    const listener = new RunningCommand(["listen", "--register", "parcel.*", "--forward-to", String(port)], {
      env,
    });
    await listener.until(/registered webhook/);
    await object(["publish", "parcel.sent", "-"], { input: '{"id":1}' });
    await listener.until(/verified v1 {2}responded with 202/);
    await new Promise((resolve) => target.close(resolve));
    await object(["publish", "parcel.sent", "-"], { input: '{"id":2}' });
    await listener.until(/verified v1 {2}responded with 502/);
    await listener.until(/cannot reach http:\/\/localhost:\d+: .*ECONNREFUSED/);
    await listener.stop();
  });

  test("data is sent as typed, and shown as published", async () => {
    const data = '{ "10":9007199254740993,"2":1.50,"\\u0061":-0 }';
    const receipt = await object(["publish", "typed.data", data, "--metadata", '{"n":1e400}']);
    const shown = await run(["events", "get", String(receipt["id"]), "--json"]);
    assert.match(shown.stdout, /9007199254740993/);
    assert.match(shown.stdout, /"2":1\.50,/);
    assert.match(shown.stdout, /"metadata":\{"n":1e400\}/);
    const response = await fetch(`${server.url}/v1/events/${String(receipt["id"])}`, {
      headers: { authorization: `Bearer ${String(env["POSTHORN_KEY"])}` },
    });
    assert.ok((await response.text()).includes(`"data":${data},"metadata":{"n":1e400},`));
  });

  test("the admin key of the data folder is used for a server on this machine, and this is reported", async () => {
    const found = await posthorn(["events", "list"], {
      env: { POSTHORN_URL: server.url, POSTHORN_DATA_DIR: server.dataDir },
    });
    assert.equal(found.status, 0);
    assert.match(found.stderr, /using the admin key of .*admin\.key/);
    using folder = temporaryFolder();
    const missing = await posthorn(["events", "list"], {
      cwd: folder.path,
      env: { POSTHORN_URL: server.url },
    });
    assert.equal(missing.status, 2);
    assert.match(missing.stderr, /no API key/);
    const elsewhere = await posthorn(["events", "list", "--url", "https://example.com"], {
      env: { POSTHORN_DATA_DIR: server.dataDir },
    });
    assert.equal(elsewhere.status, 2);
    assert.match(elsewhere.stderr, /https:\/\/example\.com requires an API key/);
  });

  test("dead letters: listed, counted, retried with progress", async () => {
    let status = 400;
    const target = createServer((_, response) => response.writeHead(status).end("no"));
    await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
    const { port } = target.address() as AddressInfo;
    const webhook = await object(["webhooks", "create", `http://127.0.0.1:${port}/`, "--events", "dead.*"]);
    for (let count = 0; count < 3; count += 1) await object(["publish", "dead.letter"]);
    const lines = await untilLines(
      () => run(["dlq", "list", "--json", "--webhook", String(webhook["id"])]),
      3,
    );
    assert.equal(
      (JSON.parse(lines[0] ?? "") as Record<string, unknown>)["reason"],
      "permanent_client_error_400",
    );

    const table = await run(["problems", "list", "--webhook", String(webhook["id"])]);
    assert.match(table.stdout, /open +.* 3 +400 Bad Request from http:.* 3 deliveries\. Not retried/);
    const { id } = await object(["problems", "list", "--state", "open"]);
    const muted = ["problems", "mute", String(id), "--until", "2h", "--reason", "known"];
    assert.equal((await object(muted))["state"], "muted");
    assert.equal((await object(["problems", "note", String(id), "Ticket 4711"]))["note"], "Ticket 4711");
    assert.equal((await object(["problems", "note", String(id)]))["note"], null);
    assert.equal((await object(["problems", "unmute", String(id)]))["state"], "open");

    const timeline = await run(["webhooks", "timeline", String(webhook["id"])]);
    assert.match(timeline.stdout, /created +POSTHORN_ADMIN_KEY +1 /);
    const revision = await object(["webhooks", "revisions", String(webhook["id"])]);
    assert.deepEqual((revision["changes"] as Record<string, unknown>)["secret"], {});

    const refused = await run(["dlq", "retry"]);
    assert.equal(refused.status, 2);
    assert.match(refused.stderr, /3 dead letters would be delivered again; nothing was changed[^]*--yes/);
    assert.deepEqual(await object(["dlq", "retry", "--dry-run"]), { count: 3 });
    assert.deepEqual(await object(["dlq", "retry", "--dry-run", "--type", "other.type"]), { count: 0 });
    status = 200;
    const done = await run(["dlq", "retry", "--yes", "--wait", "--rate", "100"]);
    assert.equal(done.status, 0, done.stderr);
    assert.match(done.stderr, /completed: 3 of 3 queued/);
    await untilLines(
      () => run(["deliveries", "list", String(webhook["id"]), "--status", "success", "--json"]),
      3,
    );
    assert.match((await run(["dlq", "list"])).stderr, /no dead letters/);
    assert.match(
      (await run(["webhooks", "recover", String(webhook["id"]), "--since", "2026-01-01", "--dry-run"]))
        .stdout,
      /0 deliveries/,
    );
    await new Promise((resolve) => target.close(resolve));
  });

  test("many deliveries: previewed, cancelled, discarded, slowed, paused, and found in the audit log", async (t) => {
    const target = createServer((request, response) =>
      response.writeHead(request.url === "/dead" ? 400 : 500).end("no"),
    );
    await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
    t.after(() => target.close());
    const { port } = target.address() as AddressInfo;
    const create = (path: string, events: string) =>
      object(["webhooks", "create", `http://127.0.0.1:${port}${path}`, "--events", events]);
    const dead = String((await create("/dead", "bulk.dead"))["id"]);
    const waiting = String((await create("/waits", "bulk.waits"))["id"]);
    for (let count = 0; count < 3; count += 1) {
      await object(["publish", "bulk.dead"]);
      await object(["publish", "bulk.waits"]);
    }
    const ofDead = () => run(["dlq", "list", "--json", "--webhook", dead]);
    const letters = (await untilLines(ofDead, 3)).map((line) => JSON.parse(line) as { id: string });
    await untilLines(() => run(["deliveries", "list", waiting, "--status", "failed", "--json"]), 3);

    const unclear = await run(["deliveries", "cancel"]);
    assert.deepEqual([unclear.status, /--all/.test(unclear.stderr)], [2, true], unclear.stderr);
    const counted = await run(["deliveries", "cancel", "--webhook", waiting, "--since", "1h", "--dry-run"]);
    assert.match(counted.stdout, /^3 deliveries would be cancelled\n$/);
    assert.match(
      counted.stderr,
      /for example [0-9a-f-]{36} +bulk\.waits +failed[^]*created from \d{4}-.* until \d{4}-/,
    );
    const both = await run(["deliveries", "retry", "--webhook", waiting, letters[0]?.id ?? "", "--dry-run"]);
    assert.deepEqual([both.status, /not both/.test(both.stderr)], [2, true], both.stderr);
    const left = await object(["deliveries", "retry", letters[0]?.id ?? "", waiting, "--dry-run"]);
    assert.deepEqual([left["count"], left["excluded"]], [1, { not_found: 1 }]);
    const cancelled = await run(["deliveries", "cancel", "--webhook", waiting, "--yes", "--watch"]);
    assert.match(cancelled.stderr, /completed: 3 of 3 cancelled/);

    const before = Date.now();
    const held = await object(["webhooks", "pause", waiting, "--until", "2h", "--reason", "a deployment"]);
    const pause = held["pause"] as { readonly until: string; readonly reason: string };
    assert.equal(pause.reason, "a deployment");
    assert.ok(Date.parse(pause.until) >= before + 7_200_000, pause.until);
    assert.equal((await object(["webhooks", "resume", waiting]))["pause"], null);

    const slow = await object(["deliveries", "retry", "--webhook", dead, "--yes", "--rate", "0.1"]);
    const id = String(slow["id"]);
    assert.deepEqual([slow["kind"], slow["requests_per_second"]], ["retry", 0.1]);
    assert.equal((await object(["operations", "pause", id]))["status"], "paused");
    const misspelt = await run(["operations", "rate", id, "fast"]);
    assert.equal(misspelt.status, 2, misspelt.stderr);
    assert.equal((await object(["operations", "rate", id, "0.2"]))["requests_per_second"], 0.2);
    assert.notEqual((await object(["operations", "resume", id]))["status"], "paused");
    assert.equal((await object(["operations", "cancel", id]))["status"], "cancelled");
    assert.equal((await object(["operations", "show", id]))["status"], "cancelled");
    assert.match(
      (await run(["operations", "list"])).stdout,
      new RegExp(`${id} +retry +cancelled +[12] of 3`),
    );

    // The retried deliveries must become dead letters again first, because a discard covers only the dead letters that
    // exist when it starts.
    await eventually("all that was retried has ended", {
      ask: () => run(["deliveries", "list", dead, "--status", "pending", "--json"]),
      holds: ({ stdout }) => stdout === "",
    });
    const discarded = await run(["dlq", "discard", "--webhook", dead, "--yes", "--watch"]);
    assert.match(discarded.stderr, /completed: \d of \d discarded/);
    await eventually("no dead letters of it", { ask: ofDead, holds: ({ stdout }) => stdout === "" });

    const audit = await run(["audit", "--target", id]);
    assert.match(audit.stdout, /operation\.cancel[^]*operation\.change[^]*deliveries\.retry/);
    assert.match(audit.stdout, /POSTHORN_ADMIN_KEY.*status: running → paused|status: pending → paused/);
    const rows = (await run(["audit", "--json", "--action", "dead_letters", "--limit", "1"])).stdout.trim();
    assert.equal((JSON.parse(rows) as { action: string }).action, "dead_letters.discard");
  });

  test("dead letters of a disabled webhook: the reason why a retry is rejected, and what it does not cover", async (t) => {
    const target = createServer((_, response) => response.writeHead(400).end());
    await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
    t.after(() => target.close());
    const { port } = target.address() as AddressInfo;
    const { id } = await object(["webhooks", "create", `http://127.0.0.1:${port}/`, "--events", "lost.*"]);
    const webhook = String(id);
    await object(["publish", "lost.letter"]);
    const [dead = ""] = await untilLines(() => run(["dlq", "list", "--json", "--webhook", webhook]), 1);
    await object(["webhooks", "disable", webhook]);
    await object(["publish", "lost.letter"]);
    const tail = (await run(["deliveries", "list", webhook, "--status", "skipped", "--json"])).stdout;
    const skipped = JSON.parse(tail) as Record<string, unknown>;
    assert.equal(skipped["reason"], "webhook_disabled");

    const enable = `webhook ${webhook} is disabled; nothing is sent until you run: posthorn webhooks enable ${webhook}`;
    const done = await run(["dlq", "retry", "--webhook", webhook, "--yes", "--wait"]);
    assert.equal(done.status, 0, done.stderr);
    assert.ok(done.stderr.includes(enable), done.stderr);
    assert.match(done.stderr, /dead letters waiting for it: 1\n/);
    assert.match(done.stderr, /which are not dead letters: 1\n.*webhooks recover \S+ --since \d{4}-/);
    const again = await run(["deliveries", "retry", String(skipped["id"])]);
    assert.ok(again.stderr.includes(enable), again.stderr);
    assert.match((await run(["deliveries", "get", JSON.parse(dead).id])).stdout, /retried_at +\d{4}-/);
    await object(["webhooks", "delete", webhook, "--yes"]);
  });

  test("webhooks, event types, tenants and keys are created, changed and deleted", async () => {
    const webhook = await object([
      "webhooks",
      "create",
      "https://example.com/hooks",
      "--events",
      "a.b,c.*",
      "--header",
      "X-Shop: berlin, hamburg",
    ]);
    const id = String(webhook["id"]);
    assert.deepEqual(webhook["events"], ["a.b", "c.*"]);
    assert.deepEqual(webhook["headers"], { "X-Shop": "berlin, hamburg" });
    assert.match(String(webhook["secret"]), /^whsec_/);
    assert.equal((await object(["webhooks", "update", id, "--description", "shop"]))["description"], "shop");
    assert.equal((await object(["webhooks", "disable", id]))["active"], false);
    assert.equal((await object(["webhooks", "enable", id]))["active"], true);
    assert.equal((await object(["webhooks", "health", id]))["status"], "active");
    assert.equal((await object(["webhooks", "circuit", id, "open", "--seconds", "60"]))["state"], "open");
    assert.equal((await object(["webhooks", "circuit", id, "reset"]))["state"], "closed");
    assert.equal((await object(["webhooks", "secret", id]))["secret"], webhook["secret"]);
    assert.notEqual((await object(["webhooks", "rotate", id]))["secret"], webhook["secret"]);
    const overlapping = await run(["webhooks", "rotate", id]);
    assert.equal(overlapping.status, 1);
    assert.match(overlapping.stderr, /has not ended yet[^]*--force[^]*--revoke/);
    const revoked = await object(["webhooks", "rotate", id, "--revoke"]);
    assert.equal(revoked["previous"], null);
    const kept = await run(["webhooks", "delete", id]);
    assert.equal(kept.status, 2);
    assert.match(
      kept.stderr,
      /nothing was deleted. Use --yes to delete webhook \S+ to https:.*, with no waiting deliveries/,
    );
    assert.equal((await run(["webhooks", "delete", id, "--yes"])).status, 0);
    assert.equal((await run(["webhooks", "get", id])).status, 1);

    await object([
      "event-types",
      "put",
      "order.paid",
      "--schema",
      '{"type":"object","required":["order_id"]}',
    ]);
    const wrong = await run(["publish", "order.paid", '{"x":1}']);
    assert.equal(wrong.status, 1);
    assert.match(wrong.stderr, /schema_violation/);
    const openApi = JSON.parse((await run(["event-types", "openapi"])).stdout) as { webhooks: object };
    assert.deepEqual(Object.keys(openApi.webhooks), ["order.paid"]);
    const asyncApi = await object(["event-types", "asyncapi", "--profile", "x-webhook"]);
    assert.deepEqual(Object.keys(asyncApi["operations"] as object), ["send-order.paid"]);
    const examples = ["--example", '{"order_id":"a, b"}', "--example", '{"order_id":2}'];
    const exemplary = await object(["event-types", "put", "order.paid", "--deprecated", ...examples]);
    assert.deepEqual(exemplary["examples"], [{ order_id: "a, b" }, { order_id: 2 }]);
    assert.equal(exemplary["deprecated"], true);
    const plain = await object(["event-types", "put", "order.paid", "--no-deprecated", "--example", "none"]);
    assert.deepEqual([plain["examples"], plain["deprecated"]], [[], false]);
    assert.notEqual(plain["schema"], null, "what is left out stays");
    assert.equal((await run(["event-types", "delete", "order.paid"])).status, 0);

    const limited = await object([
      "tenants",
      "put",
      "acme",
      "--name",
      "Acme",
      "--rate-limit",
      "600",
      "--burst",
      "7",
    ]);
    assert.equal(limited["name"], "Acme");
    assert.deepEqual(limited["rate_limit"], { requests_per_minute: 600, burst: 7 });
    const slower = await object(["tenants", "put", "acme", "--rate-limit", "60"]);
    assert.deepEqual(slower["rate_limit"], { requests_per_minute: 60, burst: 7 });
    const alone = await run(["tenants", "put", "acme", "--burst", "9"]);
    assert.equal(alone.status, 2);
    assert.match(alone.stderr, /--burst requires --rate-limit/);
    assert.equal((await object(["tenants", "put", "acme", "--rate-limit", "none"]))["rate_limit"], null);
    const key = await object(["keys", "create", "shop", "--role", "publish", "--tenant", "acme"]);
    const forbidden = await run(["events", "list"], { env: { POSTHORN_KEY: String(key["key"]) } });
    assert.equal(forbidden.status, 1);
    assert.match(forbidden.stderr, /403 forbidden/);
    const published = await object(["publish", "order.done"], { env: { POSTHORN_KEY: String(key["key"]) } });
    assert.equal(published["tenant_id"], "acme");
    assert.equal((await run(["keys", "revoke", String(key["id"])])).status, 0);
    assert.match((await run(["keys", "list"])).stderr, /no API keys/);
  });

  test("create shows the essentials, and an id of the wrong kind is recognized", async () => {
    const made = await run(["webhooks", "create", "https://example.com/short", "--events", "kinds.*"]);
    assert.deepEqual(
      made.stdout
        .trim()
        .split("\n")
        .map((line) => line.split(" ")[0]),
      ["id", "url", "events", "status", "profile", "secret"],
    );
    const webhook = /^id +(\S+)/.exec(made.stdout)?.[1] ?? "";
    const event = String((await object(["publish", "kinds.mixed"]))["id"]);
    const wrong = await run(["deliveries", "get", event]);
    assert.equal(wrong.status, 1);
    assert.match(wrong.stderr, new RegExp(`id belongs to an event: posthorn events get ${event}`));
    const listed = await run(["events", "get", webhook]);
    assert.match(listed.stderr, new RegExp(`id belongs to a webhook: posthorn webhooks get ${webhook}`));
    const recent = await run(["webhooks", "recover", webhook, "--since", "1h", "--dry-run"]);
    assert.match(recent.stdout, /^\d+ deliveries/, recent.stderr);
    const misnamed = await run(["webhooks", "update", webhook, "--set", '{"types":["a.b"]}']);
    assert.match(misnamed.stderr, /types is not a known field; did you mean "events"\?/);
    await object(["webhooks", "delete", webhook, "--yes"]);
  });

  test("deliveries show why and since when they wait, and delete says how many still wait", async (t) => {
    const answers = [400, 500];
    const target = createServer((_, response) => response.writeHead(answers.shift() ?? 200).end());
    await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
    t.after(() => target.close());
    const { port } = target.address() as AddressInfo;
    const address = `http://127.0.0.1:${port}/`;
    const later = '{"retry_config":{"schedule_ms":[3600000]}}';
    const { id } = await object(["webhooks", "create", address, "--events", "why.*", "--set", later]);
    const webhook = String(id);
    for (const status of ["exhausted", "failed"]) {
      await object(["publish", "why.it_failed"]);
      await untilLines(() => run(["deliveries", "list", webhook, "--status", status, "--json"]), 1);
    }
    await object(["webhooks", "circuit", webhook, "open"]);
    await object(["publish", "why.it_waits"]);
    const overAll = await run([
      "deliveries",
      "list",
      "--type",
      "why.*",
      "--status",
      "failed",
      "--since",
      "1h",
    ]);
    const [top = "", only = "", ...others] = overAll.stdout.trimEnd().split("\n");
    assert.equal(others.length, 0, overAll.stdout);
    assert.equal(only.slice(top.indexOf("HTTP")).split(" ")[0], "500");
    assert.ok(only.includes(address), overAll.stdout);
    const refused = await run(["deliveries", "list", "--http-status", "6xx"]);
    assert.deepEqual([refused.status, refused.stdout], [2, ""]);
    const failing = await run(["webhooks", "list", "--failing", "true", "--search", address, "--json"]);
    assert.equal((JSON.parse(failing.stdout) as { id: string }).id, webhook, failing.stderr);
    assert.match((await run(["webhooks", "list", "--circuit", "half_open"])).stderr, /no webhooks/);
    assert.equal((await run(["webhooks", "list", "--status", "asleep"])).status, 2);
    const system = await run(["system"]);
    assert.match(system.stdout, /^roles +\[/m, system.stderr);
    assert.match(system.stdout, /^POSTHORN_DATA_DIR +\S+ +(--data-dir|POSTHORN_DATA_DIR|dataDir)/m);
    const found = await object(["search", address]);
    assert.deepEqual([found["type"], found["id"], found["matched"]], ["webhook", webhook, "url"]);
    const { stdout } = await run(["deliveries", "list", webhook]);
    const [head = "", ...rows] = stdout.trimEnd().split("\n");
    const why = rows.map((row) => row.slice(head.indexOf("REASON")).split(" ")[0]);
    assert.deepEqual(why, ["-", "server_error_500", "permanent_client_error_400"], stdout);
    for (const row of rows) assert.match(row, / \d\d:\d\d:\d\d, (now|\d+ (s|min) ago)$/);
    const delivery = rows[1]?.split(" ")[0] ?? "";
    const shown = (await run(["deliveries", "get", delivery])).stdout;
    assert.match(shown, /^created_at +\S+Z \((now|\d+ (s|min) ago)\)$/m);
    assert.match(shown, /^next_attempt_at +\S+Z \(in \d+ (s|min)\)$/m);

    const kept = await run(["webhooks", "delete", webhook]);
    assert.equal(kept.status, 2);
    assert.match(kept.stderr, /nothing was deleted\. .*, with 2 waiting deliveries, which are cancelled/);
    const gone = await run(["webhooks", "delete", webhook, "--yes"]);
    assert.match(gone.stderr, /^deleted .*, with 2 waiting deliveries, which are cancelled\n$/);
  });

  test("a listing continues page after page", async () => {
    for (let count = 0; count < 3; count += 1) await object(["publish", "page.test"]);
    const first = await run(["events", "list", "--type", "page.test", "--limit", "2", "--json"]);
    assert.equal(first.stdout.trim().split("\n").length, 2);
    const cursor = /--cursor (\S+),/.exec(first.stderr)?.[1] ?? "";
    const second = await run([
      "events",
      "list",
      "--type",
      "page.test",
      "--limit",
      "2",
      "--json",
      "--cursor",
      cursor,
    ]);
    assert.equal(second.stdout.trim().split("\n").length, 1);
    const all = await run(["events", "list", "--type", "page.test", "--limit", "2", "--json", "--all"]);
    assert.equal(all.stdout.trim().split("\n").length, 3);
  });
});

async function untilLines(
  run: () => Promise<{ readonly stdout: string }>,
  count: number,
): Promise<readonly string[]> {
  const endsAt = performance.now() + 240_000;
  for (;;) {
    const lines = (await run()).stdout
      .trim()
      .split("\n")
      .filter((line) => line !== "");
    if (lines.length === count) return lines;
    assert.ok(performance.now() < endsAt, `${lines.length} lines instead of ${count}`);
  }
}
