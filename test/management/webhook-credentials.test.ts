import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PosthornError } from "../../src/domain/errors.ts";
import type { WebhookInput } from "../../src/features/services.ts";
import { expiredPair, otherHostPair, validPair } from "../peers/certificates.ts";
import { admin, openWorld, type World } from "./world.fixture.ts";

const hook = { url: "https://example.com/", events: ["*"] };
const certificate = { certificatePem: validPair.cert, privateKeyPem: validPair.key };
const client = {
  tokenUrl: "https://auth.example.com/token",
  clientId: "posthorn",
  clientSecret: "canary-client-secret",
};

async function fieldsOf(work: Promise<unknown>): Promise<readonly string[]> {
  const error = await work.then(
    () => assert.fail("it was accepted"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof PosthornError, String(error));
  return error.fields.map(({ field }) => field).toSorted();
}

const refusedOnCreate = (world: World, input: object) =>
  fieldsOf(world.services.webhooks.create(admin, { ...hook, ...(input as WebhookInput) }));

test("every new field has a default, is merged, and is reset to the default with null", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const { webhook } = await world.createWebhook();
  const { id } = webhook;
  const update = (input: WebhookInput) => webhooks.update(admin, { id, input });
  assert.deepEqual(
    [webhook.payloadFormat, webhook.bearerTokenIn, webhook.oauth2, webhook.http2, webhook.migrationHeaders],
    [null, "header", null, false, false],
  );
  const set = await update({
    payloadFormat: "standard",
    bearerToken: "token",
    bearerTokenIn: "query",
    credentialHeaders: { "X-Api-Key": "k", "X-Two": "2" },
    clientCertificate: certificate,
    http2: true,
    migrationHeaders: true,
    agreements: { acceptMultiStatus: true },
  });
  assert.deepEqual(set.credentialHeaderNames, ["X-Api-Key", "X-Two"]);
  assert.equal(set.clientCertificate?.subject, "CN=localhost");
  assert.equal(set.clientCertificate?.issuer, "CN=Posthorn test authority");
  assert.match(set.clientCertificate?.fingerprint ?? "", /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  assert.equal(set.clientCertificate?.expiresAt, Date.UTC(2120, 0, 1));
  assert.equal(set.clientCertificate?.warning, null);
  const kept = await update({ description: "x", agreements: { idempotencyEnforced: true } });
  assert.deepEqual(kept.webhook.agreements, {
    acceptMultiStatus: true,
    followPermanentRedirect: false,
    idempotencyEnforced: true,
  });
  assert.deepEqual([kept.hasBearerToken, kept.credentialHeaderNames], [true, ["X-Api-Key", "X-Two"]]);
  await world.restart();
  assert.deepEqual(await world.services.webhooks.get(admin, id), kept);
  const nothing = await world.services.webhooks.update(admin, {
    id,
    input: {
      payloadFormat: null,
      bearerToken: null,
      bearerTokenIn: null,
      credentialHeaders: null,
      clientCertificate: null,
      http2: null,
      migrationHeaders: null,
      agreements: null,
    },
  });
  const { webhook: bare } = nothing;
  assert.deepEqual(
    { ...bare, description: "", updatedAt: webhook.updatedAt, revision: webhook.revision },
    webhook,
  );
  assert.deepEqual(
    [nothing.hasBearerToken, nothing.credentialHeaderNames, nothing.clientCertificate],
    [false, [], null],
  );
  assert.deepEqual(
    world.engine.webhook(id)?.secrets.map(({ kind }) => kind),
    ["symmetric"],
    "nothing stays behind",
  );
});

test("an OAuth 2.0 client is merged, and its secret is not sent to another token URL", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const { webhook } = await world.createWebhook({ oauth2: client });
  const { id } = webhook;
  const update = (oauth2: WebhookInput["oauth2"]) =>
    webhooks.update(admin, { id, input: { oauth2: oauth2 ?? null } });
  const plain = { tokenUrl: client.tokenUrl, clientId: "posthorn", scope: null, audience: null };
  assert.deepEqual(webhook.oauth2, { ...plain, authentication: "basic" });
  const changed = await update({ scope: "events:write", authentication: "body" });
  assert.deepEqual(changed.webhook.oauth2, { ...plain, scope: "events:write", authentication: "body" });
  const secretOf = () =>
    world.engine.webhook(id)?.secrets.find(({ kind }) => kind === "oauth2_client_secret");
  const before = secretOf();
  assert.ok(before !== undefined);
  await update({ clientSecret: "another" });
  assert.notEqual(secretOf()?.digest, before.digest);
  assert.deepEqual(await fieldsOf(update({ tokenUrl: "https://evil.example.com/token" })), [
    "oauth2.client_secret",
  ]);
  await update({ tokenUrl: "https://auth.example.com/v2/token", clientSecret: "again" });
  assert.equal((await update(null)).webhook.oauth2, null);
  assert.equal(secretOf(), undefined);
});

test("invalid credentials are rejected by name, and nothing changes", async (t) => {
  const world = await openWorld(t);
  const cases: readonly (readonly [object, readonly string[]])[] = [
    [{ payloadFormat: "xml" }, ["payload_format"]],
    [{ bearerTokenIn: "body" }, ["bearer_token_in"]],
    [{ credentialHeaders: ["x"] }, ["credential_headers"]],
    [{ credentialHeaders: new Map([["X-Key", "1"]]) }, ["credential_headers"]],
    [{ headers: new Headers({ "X-Key": "1" }) }, ["headers"]],
    [{ credentialHeaders: { "Webhook-Id": "1", "X-Ok": "1" } }, ["credential_headers.Webhook-Id"]],
    [{ credentialHeaders: { Cookie: "1" } }, ["credential_headers.Cookie"]],
    [{ credentialHeaders: { "X-Key": "a\r\nb" } }, ["credential_headers.X-Key"]],
    [{ credentialHeaders: { "X-Key": "…" } }, ["credential_headers.X-Key"]],
    [{ http2: "yes", migrationHeaders: 1 }, ["http2", "migration_headers"]],
    [{ agreements: [] }, ["agreements"]],
    [{ agreements: { acceptMultiStatus: "yes" } }, ["agreements.accept_multi_status"]],
    [{ oauth2: "x" }, ["oauth2"]],
    [{ oauth2: {} }, ["oauth2.client_id", "oauth2.client_secret", "oauth2.token_url"]],
    [{ oauth2: { ...client, tokenUrl: "https://169.254.169.254/" } }, ["oauth2.token_url"]],
    [{ oauth2: { ...client, tokenUrl: "http://auth.example.com/" } }, ["oauth2.token_url"]],
    [{ oauth2: { ...client, clientSecret: "", scope: 7 } }, ["oauth2.client_secret", "oauth2.scope"]],
    [{ oauth2: { ...client, authentication: "jwt" } }, ["oauth2.authentication"]],
    [{ schemes: ["v1", "rfc9421"] }, ["signing.schemes[1]"]],
  ];
  for (const [input, fields] of cases) {
    assert.deepEqual(await refusedOnCreate(world, input), fields, JSON.stringify(input));
  }
  assert.deepEqual([...world.engine.webhooks()], []);
  await world.createWebhook({ credentialHeaders: { Authorization: "ApiKey 1" } });
});

test("a client certificate is readable, valid, and matches its key", async (t) => {
  const world = await openWorld(t);
  const refused = (clientCertificate: unknown) => refusedOnCreate(world, { clientCertificate });
  const cert = "client_certificate.certificate_pem";
  const key = "client_certificate.private_key_pem";
  assert.deepEqual(await refused("pem"), ["client_certificate"]);
  assert.deepEqual(await refused({}), [cert, key]);
  assert.deepEqual(await refused({ ...certificate, certificatePem: "nonsense" }), [cert]);
  assert.deepEqual(await refused({ ...certificate, certificatePem: validPair.cert.replace("MII", "AAA") }), [
    cert,
  ]);
  assert.deepEqual(
    await refused({ ...certificate, certificatePem: `${validPair.cert}${"x".repeat(20_000)}` }),
    [cert],
  );
  assert.deepEqual(await refused({ certificatePem: expiredPair.cert, privateKeyPem: expiredPair.key }), [
    cert,
  ]);
  assert.deepEqual(await refused({ ...certificate, privateKeyPem: otherHostPair.key }), [key]);
  assert.deepEqual(await refused({ ...certificate, privateKeyPem: validPair.cert }), [key]);
  world.skipTime(Date.UTC(2119, 11, 25) - Date.now());
  const soon = await world.createWebhook({ clientCertificate: certificate });
  assert.equal(soon.clientCertificate?.warning, "the certificate expires within two weeks");
  world.skipTime(14 * 86_400_000);
  const late = await world.services.webhooks.get(admin, soon.webhook.id);
  assert.equal(late.clientCertificate?.warning, "the certificate has expired");
});

test("contradictions name both fields, whichever was set first", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const cases: readonly (readonly [WebhookInput, readonly string[]])[] = [
    [{ bearerToken: "t", oauth2: client }, ["bearer_token", "oauth2"]],
    [{ bearerTokenIn: "query" }, ["bearer_token", "bearer_token_in"]],
    [{ bearerToken: "t", credentialHeaders: { authorization: "x" } }, ["bearer_token", "credential_headers"]],
    [{ oauth2: client, credentialHeaders: { Authorization: "x" } }, ["credential_headers", "oauth2"]],
    [{ headers: { "X-Key": "1" }, credentialHeaders: { "x-key": "1" } }, ["credential_headers", "headers"]],
    [
      { bearerToken: "t", bearerTokenIn: "query", url: "https://example.com/?access_token=1" },
      ["bearer_token_in", "url"],
    ],
    [{ payloadFormat: "x-webhook" }, ["payload_format", "profile"]],
    [{ schemes: ["x-webhook-v1"] }, ["profile", "signing.schemes"]],
    [{ agreements: { followPermanentRedirect: true } }, ["agreements.follow_permanent_redirect", "profile"]],
    [{ profile: "event-delivery", migrationHeaders: true }, ["migration_headers", "profile"]],
    [{ profile: "cloudevents" }, ["bearer_token", "profile"]],
    [{ profile: "cloudevents", bearerToken: "t", verification: "dns" }, ["profile", "verification"]],
  ];
  for (const [input, fields] of cases) {
    assert.deepEqual(await refusedOnCreate(world, input), fields, JSON.stringify(input));
  }
  const { webhook } = await world.createWebhook({ bearerToken: "t", headers: { "X-Key": "1" } });
  const update = (input: WebhookInput) => webhooks.update(admin, { id: webhook.id, input });
  assert.deepEqual(await fieldsOf(update({ oauth2: client })), ["bearer_token", "oauth2"]);
  assert.deepEqual(await fieldsOf(update({ credentialHeaders: { "x-KEY": "1" } })), [
    "credential_headers",
    "headers",
  ]);
  assert.equal((await update({ oauth2: client, bearerToken: null })).hasBearerToken, false);
});

test("canary: credentials appear in no view, error, log line, and not on the disk", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const keyLine = validPair.key.split("\n")[1] ?? "";
  const forbidden = ["canary-client-secret", "canary-header-value", "canary-token", keyLine];
  const seen: unknown[] = [];
  const note = async (work: Promise<unknown>) =>
    void seen.push(
      await work.catch((error: unknown) =>
        error instanceof PosthornError ? [error.message, error.stack, error.fields] : String(error),
      ),
    );
  const input = {
    ...hook,
    oauth2: client,
    credentialHeaders: { "X-Key": "canary-header-value" },
    clientCertificate: certificate,
  };
  const { id } = (await world.createWebhook(input)).webhook;
  await note(webhooks.get(admin, id));
  await note(webhooks.update(admin, { id, input: { description: "x" } }));
  await note(webhooks.create(admin, { ...input, bearerToken: "canary-token", url: "nonsense" }));
  await note(
    webhooks.create(admin, { ...input, credentialHeaders: { "Webhook-Id": "canary-header-value" } }),
  );
  await note(
    webhooks.create(admin, {
      ...input,
      clientCertificate: { ...certificate, certificatePem: otherHostPair.cert },
    }),
  );
  await note(
    webhooks.create(admin, {
      ...input,
      clientCertificate: { ...certificate, privateKeyPem: `${validPair.key}x` },
    }),
  );
  await world.publish();
  await world.until(() => world.requests.length > 0);
  const text = JSON.stringify(seen) + world.log.join("\n");
  const files = readdirSync(world.dataDir).map((name) => readFileSync(join(world.dataDir, name)));
  for (const secret of forbidden) {
    assert.ok(!text.includes(secret), `${secret} was shown`);
    assert.ok(!files.some((file) => file.includes(secret)), `${secret} is on the disk`);
  }
});

test("credentials are bound to their origin: for another one they must be given again, or removed", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const held: readonly (readonly [field: string, given: WebhookInput, removed: WebhookInput])[] = [
    ["bearer_token", { bearerToken: "token" }, { bearerToken: null }],
    ["credential_headers", { credentialHeaders: { "X-Api-Key": "key" } }, { credentialHeaders: null }],
    ["oauth2.client_secret", { oauth2: client }, { oauth2: null }],
  ];
  for (const [field, given, removed] of held) {
    const { view } = await webhooks.create(admin, { ...hook, ...given });
    const update = (input: WebhookInput) => webhooks.update(admin, { id: view.webhook.id, input });
    for (const url of ["https://elsewhere.example/", "https://example.com:8443/", "https://sub.example.com/"])
      assert.deepEqual(await fieldsOf(update({ url })), [field], url);
    assert.equal((await webhooks.get(admin, view.webhook.id)).webhook.url, hook.url);
    await update({ url: "https://example.com/another/path?and=query" });
    await update({ url: "https://elsewhere.example/", ...given });
    await update({ url: "https://third.example/", ...removed });
    await update({ url: "https://fourth.example/" });
  }
});
