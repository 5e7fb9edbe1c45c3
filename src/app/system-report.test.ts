import assert from "node:assert/strict";
import { test } from "node:test";
import { optionEntries } from "../config/options.ts";
import { resolveSettings } from "../config/resolve.ts";
import { StoreUnavailableError } from "../ports/store.ts";
import { type SystemParts, systemReport } from "./readings.ts";

const canary = "Canary5ystem";
const key = Buffer.from(canary.padEnd(32, "!")).toString("base64");
const secrets: Readonly<Record<string, string>> = {
  POSTHORN_ADMIN_KEY: `${canary}-of-at-least-32-characters-in-all`,
  POSTHORN_MASTER_KEY: key,
  POSTHORN_MASTER_KEY_PREVIOUS: key,
  POSTHORN_EGRESS_PROXY: `http://user:${canary}@proxy.example:3128`,
  POSTHORN_DATABASE_URL: `postgres://user:${canary}@db.example/posthorn`,
  POSTHORN_DATABASE_DIRECT_URL: `postgres://user:${canary}@direct.example/posthorn`,
  POSTHORN_QUEUE_URL: `amqp://user:${canary}@queue.example`,
  POSTHORN_REDIS_URL: `redis://user:${canary}@redis.example`,
  POSTHORN_SMTP_URL: `smtps://user:${canary}@mail.example`,
};

function partsOf(env: Readonly<Record<string, string>>, change: Partial<SystemParts> = {}): SystemParts {
  const sender = { POSTHORN_MAIL_FROM: "webhooks@example.com" };
  const resolution = resolveSettings({ flags: { concurrency: "7" }, env: { ...sender, ...env } });
  assert.ok(resolution.kind === "resolved", JSON.stringify(resolution));
  return {
    settings: resolution.settings,
    sources: resolution.sources,
    store: { facts: async () => ({ schemaVersion: 9, sizeBytes: 4_096 }) },
    companions: { workQueue: null, sharedState: null },
    startedAt: 1,
    warnings: () => [],
    ...change,
  };
}

test("every secret setting is masked, and each setting names its source", async () => {
  const secretNames = optionEntries.filter(([, { secret }]) => secret === true).map(([, { env }]) => env);
  assert.deepEqual(Object.keys(secrets).toSorted(), secretNames.toSorted(), "this test knows all of them");
  const { settings } = await systemReport(partsOf(secrets));
  const text = JSON.stringify(settings);
  assert.ok(!text.includes(canary) && !text.includes(key), text);
  for (const name of secretNames) {
    const source = { kind: "environment", name };
    assert.deepEqual(
      settings.find((setting) => setting.name === name),
      { name, value: "********", source },
    );
  }
  const concurrency = settings.find(({ name }) => name === "POSTHORN_CONCURRENCY");
  assert.deepEqual([concurrency?.value, concurrency?.source?.kind], ["7", "flag"]);
});

test("values that the store cannot provide now are null, and other services report their availability", async () => {
  const away = async () => Promise.reject(new StoreUnavailableError("away"));
  const alone = await systemReport(partsOf({}, { store: { facts: away }, sources: null }));
  assert.deepEqual(
    [alone.store, alone.queue],
    [
      { kind: "sqlite", facts: null },
      { kind: "store", isAvailable: true },
    ],
  );
  assert.deepEqual([...(alone.pools ?? [])], [["default", 1]]);
  assert.ok(alone.settings.every(({ source }) => source === null));
  const companions = { workQueue: { isConnected: false }, sharedState: { isAvailable: false } };
  const store = { facts: away, ownership: { pools: away } as never };
  const shared = await systemReport(partsOf(secrets, { companions, store }));
  assert.deepEqual(
    [shared.pools, shared.queue, shared.sharedState],
    [null, { kind: "rabbitmq", isAvailable: false }, { kind: "redis", isAvailable: false }],
  );
  const broken = { facts: () => Promise.reject(new TypeError("a bug")) };
  await assert.rejects(systemReport(partsOf({}, { store: broken })), TypeError);
});
