import assert from "node:assert/strict";
import { verify } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PosthornError } from "../../src/domain/errors.ts";
import {
  asymmetricSecretText,
  generateEd25519Key,
  parsePublicKey,
  parseSecret,
  publicKeyObject,
  symmetricSecretText,
} from "../../src/domain/signing/signing-key.ts";
import { rejectionBy } from "../peers/kit-verifier.ts";
import type { RotateSecretCommand } from "../../src/features/services.ts";
import type { OutboundRequest } from "../../src/ports/transport.ts";
import { admin, openWorld, type World } from "./world.fixture.ts";

const code = (expected: string) => (error: unknown) =>
  error instanceof PosthornError && error.code === expected;
const secretOf = (bytes: number, fill: number) => symmetricSecretText(new Uint8Array(bytes).fill(fill));
const hook = { url: "https://example.com/", events: ["*"] };

function rotation(id: string, more: Partial<RotateSecretCommand> = {}): RotateSecretCommand {
  return { id, mode: "graceful", overlapSeconds: 3_600, secret: null, force: false, ...more };
}

function header(request: OutboundRequest | undefined, name: string): string {
  const { headers } = request ?? { headers: [] };
  return (
    headers[
      headers.findIndex((candidate, index) => index % 2 === 0 && candidate.toLowerCase() === name) + 1
    ] ?? ""
  );
}

async function nextRequest(world: World): Promise<OutboundRequest> {
  const count = world.requests.length;
  await world.publish();
  return world.until(() => world.requests[count]);
}

/** Which of the secrets verify the request's `v1` signature. */
function verifiedBy(request: OutboundRequest, secrets: readonly string[]): readonly boolean[] {
  const headers = Object.fromEntries(
    ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [name, header(request, name)]),
  );
  const nowSeconds = Number(headers["webhook-timestamp"]);
  return secrets.map((secret) => rejectionBy(secret, headers, request.body, nowSeconds, 300) === null);
}

test("TS16-75 WDS-44 user-supplied secrets: 24 to 64 bytes, whsec_ or whsk_, canonical, and used for signing", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const bytes = (count: number) => Buffer.alloc(count, 7).toString("base64");
  for (const secret of [
    `whsec_${bytes(23)}`,
    `whsec_${bytes(65)}`,
    `whsk_${bytes(31)}`,
    bytes(32),
    "",
    "whsec_",
    `whpk_${bytes(32)}`,
  ]) {
    await assert.rejects(webhooks.create(admin, { ...hook, secret }), (error: unknown) => {
      assert.ok(error instanceof PosthornError && error.fields[0]?.field === "secret", secret);
      return true;
    });
  }
  for (const length of [24, 64]) {
    const secret = secretOf(length, length);
    assert.equal((await webhooks.create(admin, { ...hook, secret })).secret, secret);
  }
  const only = await openWorld(t);
  const own = secretOf(32, 9);
  await only.services.webhooks.create(admin, { ...hook, secret: own });
  assert.deepEqual(verifiedBy(await nextRequest(only), [own, secretOf(32, 10)]), [true, false]);
});

test("TS16-74 a secret in use anywhere is rejected, regardless of its owner and notation", async (t) => {
  const world = await openWorld(t);
  const { webhooks, tenants } = world.services;
  await tenants.put(admin, { id: "acme", input: {} });
  const secret = secretOf(32, 1);
  await webhooks.create(admin, { ...hook, secret });
  for (const tenantId of ["default", "acme"]) {
    await assert.rejects(webhooks.create({ tenantId }, { ...hook, secret }), (error: unknown) => {
      assert.ok(code("secret_in_use")(error) && !String(error).includes(secret));
      return true;
    });
  }
  const pair = generateEd25519Key((count) => new Uint8Array(count).fill(3)).secret;
  await webhooks.create(admin, { ...hook, secret: pair });
  const key = parseSecret(pair);
  assert.ok(key.kind === "asymmetric");
  const seedOnly = `whsk_${Buffer.from(key.seed).toString("base64")}`;
  await assert.rejects(
    webhooks.create({ tenantId: "acme" }, { ...hook, secret: seedOnly }),
    code("secret_in_use"),
  );
  const racers = await Promise.allSettled(
    [1, 2, 3].map(() => webhooks.create(admin, { ...hook, secret: secretOf(40, 2) })),
  );
  assert.equal(racers.filter((result) => result.status === "fulfilled").length, 1);
  const { webhook } = await world.createWebhook();
  await assert.rejects(webhooks.rotateSecret(admin, rotation(webhook.id, { secret })), code("secret_in_use"));
});

test("each webhook has its own secrets, each tenant its own key pairs (TS16-73)", async (t) => {
  const world = await openWorld(t);
  const { webhooks, tenants } = world.services;
  await tenants.put(admin, { id: "acme", input: {} });
  const [one, two] = await Promise.all([world.createWebhook(), world.createWebhook()]);
  const three = await world.createWebhook({ tenantId: "acme" });
  const ids = [one, two, three].map((view) => view.webhook.id);
  const secrets = await Promise.all(ids.map(async (id) => (await webhooks.secret(admin, id)).secret));
  assert.equal(new Set(secrets).size, 3);
  const keys = await Promise.all(ids.map((id) => webhooks.publicKey(admin, id)));
  assert.equal(keys[0]?.publicKey, keys[1]?.publicKey);
  assert.notEqual(keys[0]?.publicKey, keys[2]?.publicKey);
  assert.equal(
    keys[0]?.jwk["x"],
    Buffer.from((keys[0]?.publicKey ?? "").slice(5), "base64").toString("base64url"),
  );
  await world.restart();
  assert.deepEqual(await world.services.webhooks.publicKey(admin, ids[0] ?? ""), keys[0]);
});

test("TS16-79 the public key verifies sent messages", async (t) => {
  const world = await openWorld(t);
  const { webhook } = await world.createWebhook({ schemes: ["v1a"] });
  const check = async () => {
    const request = await nextRequest(world);
    const { publicKey } = await world.services.webhooks.publicKey(admin, webhook.id);
    const key = parsePublicKey(publicKey);
    assert.ok(key.kind === "public");
    const signed = Buffer.concat([
      Buffer.from(`${header(request, "webhook-id")}.${header(request, "webhook-timestamp")}.`),
      request.body,
    ]);
    const entries = header(request, "webhook-signature").split(" ");
    const valid = entries.map((entry) =>
      verify(null, signed, publicKeyObject(key.bytes), Buffer.from(entry.slice(4), "base64")),
    );
    return { publicKey, valid };
  };
  const before = await check();
  assert.deepEqual(before.valid, [true]);
  assert.deepEqual(await world.services.webhooks.secret(admin, webhook.id), { secret: null, previous: null });
  await world.services.webhooks.rotateSecret(admin, rotation(webhook.id));
  const during = await check();
  assert.notEqual(during.publicKey, before.publicKey);
  assert.deepEqual(during.valid, [true, false], "the new key first, the old one still beside it");
  await world.services.webhooks.rotateSecret(admin, rotation(webhook.id, { mode: "revoke", force: true }));
  assert.deepEqual((await check()).valid, [true]);
});

test("TS16-68 TS16-76 a graceful rotation signs with both keys until the overlap ends automatically", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const { view, secret } = await webhooks.create(admin, { ...hook, schemes: ["v1"] });
  const { id } = view.webhook;
  const rotated = await webhooks.rotateSecret(admin, rotation(id));
  assert.notEqual(rotated.secret, secret);
  assert.equal(rotated.previous?.secret, secret);
  assert.deepEqual(await webhooks.secret(admin, id), rotated);
  const both = [rotated.secret ?? "", secret ?? ""];
  assert.deepEqual(verifiedBy(await nextRequest(world), both), [true, true]);
  assert.equal(header(world.requests.at(-1), "webhook-signature").split(" ").length, 2);
  await assert.rejects(webhooks.rotateSecret(admin, rotation(id)), code("rotation_in_progress"));
  const forced = await webhooks.rotateSecret(admin, rotation(id, { force: true }));
  assert.equal(forced.previous?.secret, rotated.secret);
  world.skipTime(3_601_000);
  assert.equal((await webhooks.secret(admin, id)).previous, null);
  await world.restart();
  assert.deepEqual(verifiedBy(await nextRequest(world), [forced.secret ?? "", rotated.secret ?? ""]), [
    true,
    false,
  ]);
  await world.services.webhooks.rotateSecret(admin, rotation(id));
});

test("a revoked key signs nothing more, including retries of old events (TS16-69)", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  world.statuses.set("/", 503);
  const { view, secret } = await webhooks.create(admin, {
    ...hook,
    schemes: ["v1"],
    retry: { scheduleMs: [50, 50, 50, 50, 50, 50] },
  });
  await world.publish();
  await world.until(() => world.requests.length >= 1);
  const { secret: fresh, previous } = await webhooks.rotateSecret(
    admin,
    rotation(view.webhook.id, { mode: "revoke" }),
  );
  assert.equal(previous, null);
  const count = world.requests.length;
  world.statuses.delete("/");
  await webhooks.circuit(admin, { id: view.webhook.id, action: "reset", durationSeconds: 1 });
  const retried = await world.until(() => world.requests[count]);
  assert.deepEqual(verifiedBy(retried, [fresh ?? "", secret ?? ""]), [true, false]);
});

test("a rotation is validated before anything changes", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const { webhook } = await world.createWebhook({ schemes: ["v1"] });
  const before = await webhooks.secret(admin, webhook.id);
  const pair = asymmetricSecretText(
    parseSecret(generateEd25519Key((count) => new Uint8Array(count).fill(5)).secret) as Parameters<
      typeof asymmetricSecretText
    >[0],
  );
  for (const bad of [
    { overlapSeconds: 0 },
    { overlapSeconds: 604_801 },
    { overlapSeconds: 1.5 },
    { mode: "maybe" },
    { secret: "whsec_AA==" },
    { secret: pair },
  ]) {
    await assert.rejects(
      webhooks.rotateSecret(admin, rotation(webhook.id, bad as Partial<RotateSecretCommand>)),
      code("invalid_request"),
    );
  }
  await assert.rejects(
    webhooks.create(admin, { ...hook, schemes: ["v1a"], secret: secretOf(32, 4) }),
    code("invalid_request"),
  );
  await assert.rejects(webhooks.publicKey(admin, webhook.id), code("not_found"));
  assert.deepEqual(await webhooks.secret(admin, webhook.id), before);
});

test("every scheme has the key it needs, and it is rotated in both modes", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const sets = [
    { profile: "standard", schemes: ["v1"], kind: "symmetric" },
    { profile: "standard", schemes: ["rfc9421-hmac-sha256"], kind: "symmetric" },
    { profile: "standard", schemes: ["v1a", "rfc9421-hmac-sha256"], kind: "symmetric" },
    { profile: "standard", schemes: ["rfc9421-ed25519", "v1"], kind: "symmetric" },
    { profile: "x-webhook", schemes: ["x-webhook-v1"], kind: "symmetric" },
    { profile: "x-webhook", schemes: ["x-webhook-v1", "rfc9421-ed25519"], kind: "symmetric" },
    { profile: "standard", schemes: ["v1a"], kind: "ed25519" },
    { profile: "standard", schemes: ["rfc9421-ed25519"], kind: "ed25519" },
    { profile: "standard", schemes: ["v1a", "rfc9421-ed25519"], kind: "ed25519" },
  ] as const;
  for (const { profile, schemes, kind } of sets) {
    const { id } = (await world.createWebhook({ profile, schemes })).webhook;
    const keys = () => world.engine.webhook(id)?.secrets.filter((secret) => secret.kind === kind) ?? [];
    const digests = () => keys().map(({ digest }) => digest);
    const before = digests();
    const name = schemes.join(" ");
    assert.equal(before.length, kind === "symmetric" ? 1 : 0, name);
    const graceful = await webhooks.rotateSecret(admin, rotation(id));
    assert.equal(digests().length, 2, name);
    assert.equal(graceful.previous === null, kind === "ed25519", name);
    if (kind === "symmetric") assert.equal(digests()[1], before[0], name);
    await webhooks.rotateSecret(admin, rotation(id, { mode: "revoke", force: true }));
    assert.equal(digests().length, 1, name);
    const hasPublicKey = schemes.some((scheme) => scheme === "v1a" || scheme === "rfc9421-ed25519");
    if (hasPublicKey) await webhooks.publicKey(admin, id);
    else await assert.rejects(webhooks.publicKey(admin, id), code("not_found"));
  }
  const pair = generateEd25519Key((count) => new Uint8Array(count).fill(8)).secret;
  const mixed = (await world.createWebhook({ schemes: ["v1", "rfc9421-ed25519"] })).webhook;
  await webhooks.rotateSecret(admin, rotation(mixed.id, { secret: pair }));
  const kinds = world.engine.webhook(mixed.id)?.secrets.map(({ kind }) => kind);
  assert.deepEqual(
    kinds?.toSorted(),
    ["ed25519", "ed25519", "symmetric"],
    "the kind that was given is rotated",
  );
  const hmacOnly = (await world.createWebhook({ schemes: ["rfc9421-hmac-sha256"] })).webhook;
  const foreign = generateEd25519Key((count) => new Uint8Array(count).fill(9)).secret;
  await assert.rejects(
    webhooks.rotateSecret(admin, rotation(hmacOnly.id, { secret: foreign })),
    code("invalid_request"),
  );
});

test("a webhook that changes its schemes gets the keys it needs", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const { webhook } = await world.createWebhook({ schemes: ["v1a"] });
  assert.equal((await webhooks.secret(admin, webhook.id)).secret, null);
  await webhooks.update(admin, { id: webhook.id, input: { schemes: ["v1"] } });
  const { secret } = await webhooks.secret(admin, webhook.id);
  assert.deepEqual(verifiedBy(await nextRequest(world), [secret ?? ""]), [true]);
});

test("a bearer token is sent, replaced, removed, and never shown", async (t) => {
  const world = await openWorld(t);
  const { webhooks } = world.services;
  const { webhook } = await world.createWebhook({ bearerToken: "first-token" });
  assert.equal(header(await nextRequest(world), "authorization"), "Bearer first-token");
  const view = await webhooks.update(admin, { id: webhook.id, input: { bearerToken: "second" } });
  assert.equal(view.hasBearerToken, true);
  assert.equal(header(await nextRequest(world), "authorization"), "Bearer second");
  const removed = await webhooks.update(admin, { id: webhook.id, input: { bearerToken: null } });
  assert.equal(removed.hasBearerToken, false);
  assert.ok(!(await nextRequest(world)).headers.includes("Authorization"));
});

test("TS16-78 canary: a secret appears in no view, error, log line, and not on the disk", async (t) => {
  const world = await openWorld(t);
  const { webhooks, deliveries } = world.services;
  const canary = symmetricSecretText(Buffer.from("canary-canary-canary-canary-1234"));
  const token = "canary-bearer-token";
  const forbidden = [canary, canary.slice(6), token, "canary-canary", Buffer.from(token).toString("base64")];
  const seen: unknown[] = [];
  const note = async (work: Promise<unknown>) =>
    void seen.push(await work.catch((error: unknown) => errorText(error)));
  const created = await webhooks.create(admin, { ...hook, secret: canary, bearerToken: token });
  const { id } = created.view.webhook;
  seen.push(created.view);
  world.statuses.set("/", 500);
  const eventId = await world.publish();
  await world.until(() => world.requests.length > 0);
  await note(webhooks.get(admin, id));
  await note(
    webhooks.list(admin, {
      active: null,
      eventType: null,
      tenantId: null,
      limit: 50,
      offset: 0,
      after: null,
    }),
  );
  await note(webhooks.update(admin, { id, input: { description: "x" } }));
  await note(webhooks.health(admin, id));
  await note(webhooks.publicKey(admin, id));
  await note(webhooks.create(admin, { ...hook, secret: canary }));
  await note(webhooks.create(admin, { ...hook, secret: `${canary}x`, bearerToken: `${token}\n` }));
  await note(webhooks.create(admin, { ...hook, url: "nonsense", secret: canary.slice(0, -8) }));
  await note(webhooks.update(admin, { id, input: { secret: canary } }));
  await note(webhooks.rotateSecret(admin, rotation(id, { secret: canary })));
  await note(world.services.events.get(admin, eventId));
  await note(
    deliveries.listOfWebhook(admin, {
      webhookId: id,
      page: { limit: 10, after: null, offset: 0 },
    }),
  );
  const text = JSON.stringify(seen) + world.log.join("\n");
  for (const secret of forbidden) assert.ok(!text.includes(secret), `${secret} was shown`);
  assert.ok(text.includes(canary.slice(-4)), "the hint is there, so the search did look at views");
  const files = readdirSync(world.dataDir).map((name) => readFileSync(join(world.dataDir, name)));
  assert.ok(
    files.some((file) => file.includes("order.created")),
    "the search does look at the store",
  );
  for (const secret of forbidden)
    assert.ok(!files.some((file) => file.includes(secret)), `${secret} is on the disk`);
  assert.equal((await webhooks.secret(admin, id)).secret, canary);
});

function errorText(error: unknown): unknown {
  assert.ok(error instanceof PosthornError, String(error));
  return { message: error.message, stack: error.stack, fields: error.fields, cause: String(error.cause) };
}
