/**
 * Secrets are shown only where they are requested. They must not occur in logs, lists, errors, metrics, documents or
 * files of the data folder.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { validPair } from "../peers/certificates.ts";
import { startReceiver } from "../peers/receiver.ts";
import { createClient, itemsOf, textOf } from "./api/client.fixture.ts";
import type { Client } from "./api/client.fixture.ts";
import { PosthornProcess } from "./posthorn-process.fixture.ts";

test("TS16-78 EDS-11.6-2 canary secrets appear in no output, response or file", async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const posthorn = await PosthornProcess.start({ env: { POSTHORN_LOG_LEVEL: "debug" } });
  t.after(() => posthorn.remove());
  const api = createClient({ baseUrl: posthorn.url, key: posthorn.adminKey });
  const secrets = {
    given: `whsec_${randomBytes(32).toString("base64")}`,
    rotated: `whsec_${randomBytes(32).toString("base64")}`,
    bearer: `bearer-canary-${randomBytes(12).toString("hex")}`,
    header: `header-canary-${randomBytes(12).toString("hex")}`,
    client: `client-canary-${randomBytes(12).toString("hex")}`,
    certificate: validPair.key.split("\n")[1] ?? "",
    admin: posthorn.adminKey,
    master: readFileSync(join(posthorn.dataDir, "master.key"), "utf8").trim(),
  };
  receiver.script((_, index) => ({ status: index % 2 === 0 ? 500 : 200 }));
  const payload = `payload-canary-${randomBytes(12).toString("hex")}`;
  const { answers, generated } = await live(api, {
    url: receiver.url("/in?token=url-canary"),
    secrets,
    payload,
  });
  await receiver.waitForRequests(2);
  answers.push(...(await everythingReadable(api, "")));
  await posthorn.stop();
  const all = { ...secrets, ...generated };

  const told = posthorn.output;
  assert.match(told, /"level":"debug"/, "the most talkative level was on");
  for (const [name, canary] of Object.entries({ ...all, payload, query: "url-canary" }))
    for (const spelling of spellings(canary)) assert.ok(!told.includes(spelling), `${name} in the log`);
  for (const [name, canary] of Object.entries(all))
    for (const answer of answers) assert.ok(!answer.includes(canary), `${name} in ${answer.slice(0, 300)}`);
  const files = readdirSync(posthorn.dataDir);
  for (const file of files) {
    const path = join(posthorn.dataDir, file);
    assert.equal(statSync(path).mode & 0o077, 0, `${file} is for its owner alone`);
    if (file.endsWith(".key")) continue;
    const bytes = readFileSync(path);
    for (const [name, canary] of Object.entries(all))
      for (const spelling of [...spellings(canary), rawBytes(canary)])
        assert.equal(bytes.indexOf(spelling), -1, `${name} in clear in ${file}`);
  }
  t.diagnostic(`${answers.length} answers, ${told.length} characters of log, files: ${files.join(", ")}`);
});

/** Write-only fields by route and JSON pointer; a hand-written list. Add new secret fields of a route here, too. */
const writeOnly: Readonly<Record<string, readonly string[]>> = {
  "POST /v1/webhooks": [
    "/secret",
    "/bearer_token",
    "/credential_headers",
    "/client_certificate/private_key_pem",
    "/oauth2/client_secret",
  ],
  "PUT /v1/webhooks/{id}": [
    "/bearer_token",
    "/credential_headers",
    "/client_certificate/private_key_pem",
    "/oauth2/client_secret",
  ],
  "PATCH /v1/webhooks/{id}": [
    "/bearer_token",
    "/credential_headers",
    "/client_certificate/private_key_pem",
    "/oauth2/client_secret",
  ],
  "POST /v1/webhooks/{id}/secret/rotate": ["/secret"],
  "PUT /v1/notification-channels": ["/channels/*/url", "/channels/*/integration_key"],
  "PUT /v1/tenants/{id}/notifications": ["/channels/*/url", "/channels/*/integration_key"],
  "POST /v1/tenants/{id}/notifications/{channel_id}/secret/rotate": ["/secret"],
  "POST /v1/sources": ["/verification"],
  "PATCH /v1/sources/{id}": ["/verification"],
};

/** Read routes whose response contains a secret. The list is hand-written. Each read adds a row to the audit log. */
const secretReads = ["webhook.read_secret", "source.read_address"];

test("TS16-78 every write-only field of every route is in no audit row, history, stored response, list or log", async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const posthorn = await PosthornProcess.start({ env: { POSTHORN_LOG_LEVEL: "debug" } });
  t.after(() => posthorn.remove());
  const api = createClient({ baseUrl: posthorn.url, key: posthorn.adminKey });
  const document: unknown = JSON.parse((await api.get("/openapi.json")).text);
  assert.deepEqual(writeOnlyIn(document), writeOnly, "the document says write-only where the list does");

  let count = 0;
  const canaries: string[] = [];
  const canary = (form: (text: string) => string = (text) => text): string => {
    count += 1;
    const value = form(`canary${count}x${randomBytes(9).toString("hex")}`);
    canaries.push(value);
    return value;
  };
  const signing = () => canary((text) => `whsec_${Buffer.from(text.padEnd(32, "y")).toString("base64")}`);
  const once = { headers: { "idempotency-key": '"write-only"' } };
  const credentials = () => ({
    credential_headers: { "X-Team": canary() },
    oauth2: { token_url: receiver.url("/token"), client_id: "c", client_secret: canary() },
  });
  const webhook = { url: receiver.url("/in"), events: ["never.sent"] };
  const made = await api.post("/v1/webhooks", { ...webhook, secret: signing(), ...credentials() }, once);
  assert.equal(made.status, 201, made.text);
  const again = await api.post("/v1/webhooks", { ...webhook, secret: "whsec_AAAA" }, once);
  assert.equal(again.status, 422, "the key belongs to the first request");
  const path = `/v1/webhooks/${textOf(made.body["id"])}`;
  const ok = async (reply: Promise<{ readonly status: number; readonly text: string }>) => {
    const { status, text } = await reply;
    assert.ok(status < 300, text);
  };
  const change = { oauth2: null, credential_headers: null, bearer_token: canary() };
  await ok(api.call("PATCH", path, { body: change }));
  await ok(api.call("PUT", path, { body: { ...webhook, bearer_token: canary() } }));
  await ok(api.post(`${path}/secret/rotate`, { secret: signing() }));
  await ok(api.get(`${path}/secret`));
  for (const [index, channels] of [
    "/v1/notification-channels",
    "/v1/tenants/default/notifications",
  ].entries()) {
    const kinds = ["slack", "teams", "discord", "webhook"];
    const body = {
      channels: [
        ...kinds.map((kind) => ({ kind, url: receiver.url(`/chat/${kind}/${canary()}`) })),
        { kind: "pagerduty", integration_key: canary() },
      ],
    };
    const saved = await api.call("PUT", channels, { body });
    assert.equal(saved.status, 200, saved.text);
    const rows = itemsOf(saved.body["data"]);
    canaries.push(...rows.flatMap(({ secret }) => (typeof secret === "string" ? [textOf(secret)] : [])));
    const own = rows.find(({ kind }) => textOf(kind) === "webhook");
    if (index === 1) {
      const rotate = `${channels}/${textOf(own?.["id"])}/secret/rotate`;
      await ok(api.post(rotate, { secret: signing() }, { headers: { "idempotency-key": '"turn"' } }));
    }
    await ok(api.post(`${channels}/${textOf(rows[0]?.["id"])}/test`, {}));
  }
  const verification = () => ({ type: "hmac", header: "x-signature", secrets: [canary()] });
  const source = await api.post(
    "/v1/sources",
    { name: "s", verification: { type: "github", secrets: [canary()] } },
    once,
  );
  assert.equal(source.status, 201, source.text);
  const sourcePath = `/v1/sources/${textOf(source.body["source_id"])}`;
  const changed = await api.call("PATCH", sourcePath, { body: { verification: verification() } });
  assert.ok(changed.status === 200 || changed.status === 400, changed.text);
  const address = await api.get(`${sourcePath}/address`);
  canaries.push(textOf(address.body["url"]).split("/").at(-1) ?? "");

  const audit = (await api.get("/v1/audit-log?limit=250")).text;
  for (const action of secretReads) assert.ok(audit.includes(`"${action}"`), `${action} is in the audit log`);
  const webhooks = itemsOf((await api.get("/v1/webhooks?limit=250")).body["data"]).map(({ id }) =>
    textOf(id),
  );
  assert.ok(webhooks.length > 8, "webhooks that carry channels are among them");
  const texts = [audit];
  for (const read of [
    "/v1/webhooks?limit=250",
    "/v1/sources",
    "/v1/notifications",
    "/v1/deliveries",
    "/v1/system",
    "/v1/notification-channels",
    "/v1/tenants/default/notifications",
    "/v1/search?q=canary",
    "/metrics",
    ...webhooks.flatMap((id) => [`/v1/webhooks/${id}/timeline`, `/v1/webhooks/${id}/revisions`]),
  ])
    texts.push((await api.get(read)).text);
  await posthorn.stop();
  texts.push(posthorn.output);
  for (const secret of canaries)
    for (const text of texts) {
      const at = text.indexOf(secret);
      assert.equal(at, -1, `${secret} in ${text.slice(Math.max(0, at - 200), at)}`);
    }
});

type Doc = Readonly<Record<string, unknown>>;

function member(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>(
    (found, name) => (typeof found === "object" && found !== null ? (found as Doc)[name] : undefined),
    value,
  );
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

/** The write-only fields in the document, by route and pointer. */
function writeOnlyIn(document: unknown): Record<string, readonly string[]> {
  const found: Record<string, readonly string[]> = {};
  const walk = (schema: unknown, at: string): readonly string[] => {
    const reference = member(schema, "$ref");
    if (typeof reference === "string")
      return walk(member(document, "components", "schemas", reference.split("/").at(-1) ?? ""), at);
    if (member(schema, "writeOnly") === true) return [at];
    const variants = ["anyOf", "oneOf", "allOf"].flatMap((name) => entriesOf(member(schema, name)));
    const items = member(schema, "items");
    return [
      ...entriesOf(member(schema, "properties")).flatMap(([name, one]) => walk(one, `${at}/${name}`)),
      ...(items === undefined ? [] : walk(items, `${at}/*`)),
      ...variants.flatMap(([, variant]) => walk(variant, at)),
    ];
  };
  for (const [path, methods] of entriesOf(member(document, "paths")))
    for (const [method, operation] of entriesOf(methods)) {
      const schema = member(operation, "requestBody", "content", "application/json", "schema");
      const pointers = schema === undefined ? [] : walk(schema, "");
      if (pointers.length > 0) found[`${method.toUpperCase()} ${path}`] = [...new Set(pointers)];
    }
  return found;
}

interface Seen {
  readonly answers: string[];
  /** Secrets that the server created and showed once. */
  readonly generated: Record<string, string>;
}

/**
 * Uses every secret in every way and collects the responses. Responses that are a secret themselves are kept
 * separately.
 */
async function live(
  api: Client,
  more: {
    readonly url: string;
    readonly secrets: Readonly<
      Record<"given" | "rotated" | "bearer" | "header" | "client" | "admin", string>
    >;
    readonly payload: string;
  },
): Promise<Seen> {
  const { url, secrets, payload } = more;
  const { given, rotated, bearer } = secrets;
  const webhook = { url, events: ["*"], secret: given, bearer_token: bearer, signing: { schemes: ["v1"] } };
  const once = { headers: { "idempotency-key": '"one-webhook"' } };
  const id = textOf((await api.post("/v1/webhooks", webhook, once)).body["id"]);
  const both = { url, events: ["never.sent"] };
  const made = await api.post("/v1/webhooks", both, { headers: { "idempotency-key": '"generated"' } });
  const credentials = {
    url,
    events: ["never.sent"],
    oauth2: { token_url: url, client_id: "c", client_secret: secrets.client },
    credential_headers: { "X-Api-Key": secrets.header },
  };
  // A certificate requires https. Nothing listens at this address, and nothing is sent to it.
  const client_certificate = { certificate_pem: validPair.cert, private_key_pem: validPair.key };
  const guarded = { ...credentials, url: "https://example.com/", client_certificate };
  const accepted = await Promise.all([credentials, guarded].map((body) => api.post("/v1/webhooks", body)));
  for (const reply of accepted) assert.equal(reply.status, 201, reply.text);
  const key = await api.post("/v1/api-keys", { name: "shown once", role: "read", tenant_id: "default" });
  const generated = { generatedSecret: textOf(made.body["secret"]), apiKey: textOf(key.body["key"]) };
  await api.post(
    `/v1/webhooks/${id}/secret/rotate`,
    { secret: rotated },
    { headers: { "idempotency-key": '"turn"' } },
  );
  for (const n of [1, 2]) await api.post("/v1/events", { event_type: "order.paid", data: { payload, n } });
  const answers: string[] = accepted.map(({ text }) => text);
  const keep = async (reply: Promise<{ readonly text: string }>): Promise<void> =>
    void answers.push((await reply).text);
  await keep(api.post("/v1/webhooks", { ...webhook, url: "nonsense" }));
  await keep(api.post("/v1/webhooks", { ...webhook, bearer_token: `${bearer} x` }));
  await keep(api.post("/v1/webhooks", { ...webhook, secret: `${given}!` }));
  await keep(api.post("/v1/webhooks", webhook));
  await keep(api.post("/v1/webhooks", undefined, { raw: `{"secret":"${given}",}` }));
  await keep(api.post(`/v1/webhooks/${id}/secret/rotate`, { secret: given }));
  await keep(api.post("/v1/webhooks", { ...guarded, bearer_token: bearer }));
  await keep(api.post("/v1/webhooks", { ...guarded, credential_headers: { Cookie: secrets.header } }));
  await keep(api.withKey(`${secrets.admin}x`).get("/v1/events"));
  await keep(api.call("PATCH", `/v1/webhooks/${id}`, { body: { description: "changed" } }));
  answers.push(...(await everythingReadable(api, id)));
  return { answers, generated };
}

async function everythingReadable(api: Client, webhook: string): Promise<string[]> {
  const events = itemsOf((await api.get("/v1/events")).body["data"]).map((event) => textOf(event["id"]));
  const deliveries = await Promise.all(events.map((event) => api.get(`/v1/events/${event}/deliveries`)));
  const deliveryIds = deliveries.flatMap((reply) =>
    itemsOf(reply.body["data"]).map((row) => textOf(row["id"])),
  );
  const paths = [
    "/v1/webhooks",
    "/v1/events",
    "/v1/dlq",
    "/v1/api-keys",
    "/v1/tenants",
    "/v1/event-types",
    "/v1/profiles",
    "/v1/system",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/readyz",
    ...deliveryIds.map((id) => `/v1/deliveries/${id}`),
    ...(webhook === "" ? [] : ["", "/health", "/deliveries"].map((end) => `/v1/webhooks/${webhook}${end}`)),
  ];
  const replies = await Promise.all(paths.map((path) => api.get(path)));
  for (const [index, reply] of replies.entries())
    assert.equal(reply.status, 200, `${paths[index]}: ${reply.text}`);
  return replies.map((reply) => reply.text);
}

/** The forms in which a secret might appear: unchanged, without its prefix, and encoded again. */
function spellings(canary: string): readonly string[] {
  const bare = canary.replace(/^whs(ec|k)_/, "");
  return [canary, bare, Buffer.from(bare).toString("base64").replace(/=+$/, "").slice(0, -1)];
}

function rawBytes(canary: string): Buffer {
  return Buffer.from(canary.replace(/^whs(ec|k)_/, ""), "base64");
}
