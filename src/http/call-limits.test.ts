import assert from "node:assert/strict";
import { test } from "node:test";
import { PosthornError } from "../domain/errors.ts";
import { ManualClock } from "../engine/manual-clock.fixture.ts";
import type { Principal } from "../features/services.ts";
import { addressesMax, CallLimits, type CallRates, unknownKeysPerMinute } from "./authentication.ts";
import type { Access } from "./route.ts";

const noLimits: CallRates = {
  keyCallsPerMinute: 0,
  tenantCallsPerMinute: 0,
  keyPublishesPerMinute: 0,
  tenantPublishesPerMinute: 0,
};

function scene(rates: Partial<CallRates> = {}) {
  const clock = new ManualClock();
  const limited: string[] = [];
  const limits = new CallLimits({
    callRates: { ...noLimits, ...rates },
    clock,
    metrics: { apiCallLimited: (limit) => void limited.push(limit) },
  });
  /** Makes a call. Returns the response headers and, if the call was refused, the seconds to wait. */
  const attempt = (work: (answer: { setHeader(name: string, value: string): void }) => void) => {
    const fields: Record<string, string> = {};
    try {
      work({ setHeader: (name, value) => void (fields[name] = value) });
      return { fields, waitSeconds: 0 };
    } catch (error) {
      assert.ok(error instanceof PosthornError && error.code === "rate_limited");
      return { fields, waitSeconds: error.retryAfterSeconds };
    }
  };
  return {
    clock,
    limited,
    call: (principal: Principal, access: Access = "read") =>
      attempt((answer) => limits.count(principal, { access, answer })),
    unknown: (address: string) => attempt((answer) => limits.countUnknown(address, answer)),
  };
}

function keyOf(keyId: string, tenantId = "acme"): Principal {
  return { keyId, role: "manage", tenantId };
}

test("a key can make its calls of a minute at once, then one at a time as they are refilled", () => {
  const { clock, limited, call } = scene({ keyCallsPerMinute: 6 });
  const key = keyOf("k1");
  assert.deepEqual(call(key), {
    fields: { "RateLimit-Policy": '"key";q=6;w=60', "RateLimit": '"key";r=5;t=10' },
    waitSeconds: 0,
  });
  for (let count = 2; count <= 6; count += 1) assert.equal(call(key).waitSeconds, 0);
  clock.advance(500);
  assert.deepEqual(call(key), {
    fields: { "RateLimit-Policy": '"key";q=6;w=60', "RateLimit": '"key";r=0;t=60' },
    waitSeconds: 10,
  });
  assert.deepEqual(limited, ["key"]);
  clock.advance(9_500);
  assert.equal(call(key).waitSeconds, 0);
  assert.equal(call(key).waitSeconds, 10);
  assert.equal(call(keyOf("k2")).waitSeconds, 0);
});

test("a tenant has a limit across its keys, and rejected calls are free", () => {
  const { clock, limited, call } = scene({ keyCallsPerMinute: 2, tenantCallsPerMinute: 3 });
  assert.equal(call(keyOf("k1")).waitSeconds, 0);
  assert.equal(call(keyOf("k1")).fields["RateLimit"], '"key";r=0;t=60, "tenant";r=1;t=40');
  for (let count = 0; count < 5; count += 1) assert.equal(call(keyOf("k1")).waitSeconds, 30);
  assert.equal(call(keyOf("k2")).waitSeconds, 0);
  assert.equal(call(keyOf("k3")).waitSeconds, 20);
  assert.deepEqual(limited, [...Array.from({ length: 5 }, () => "key"), "tenant"]);
  assert.equal(call(keyOf("other", "other")).waitSeconds, 0);
  clock.advance(60_000);
  assert.equal(call(keyOf("k1")).fields["RateLimit"], '"key";r=1;t=30, "tenant";r=2;t=20');
});

test("publishing is counted apart from all other calls", () => {
  const { call } = scene({ keyCallsPerMinute: 1, keyPublishesPerMinute: 2 });
  const key = keyOf("k1");
  assert.equal(call(key).waitSeconds, 0);
  assert.equal(call(key).waitSeconds, 60);
  assert.equal(call(key, "publish").fields["RateLimit-Policy"], '"publish_key";q=2;w=60');
  assert.equal(call(key, "publish").waitSeconds, 0);
  assert.equal(call(key, "publish").waitSeconds, 30);
});

test("administrators have no limit, nor has a setting of 0, and neither gets limit headers", () => {
  const strict = scene({ keyCallsPerMinute: 1, tenantCallsPerMinute: 1 });
  const free = scene();
  for (let count = 0; count < 3; count += 1) {
    const admin = strict.call({ keyId: "admin", role: "admin", tenantId: null });
    assert.deepEqual(admin, { fields: {}, waitSeconds: 0 });
    assert.deepEqual(free.call(keyOf("k1")), { fields: {}, waitSeconds: 0 });
  }
});

test("unknown keys are counted by address, in bounded memory", () => {
  const { clock, limited, unknown } = scene();
  for (let count = 0; count < unknownKeysPerMinute; count += 1) {
    assert.deepEqual(unknown("192.0.2.1"), { fields: {}, waitSeconds: 0 });
  }
  assert.equal(unknown("192.0.2.1").waitSeconds, 1);
  assert.deepEqual(limited, ["unknown_key"]);
  for (let count = 0; count < addressesMax - 1; count += 1) assert.equal(unknown(`a${count}`).waitSeconds, 0);
  // From here on, addresses that were not seen before share one bucket.
  for (let count = 0; count < unknownKeysPerMinute; count += 1)
    assert.equal(unknown(`b${count}`).waitSeconds, 0);
  assert.equal(unknown("c").waitSeconds, 1);
  clock.advance(60_000);
  for (let count = 0; count < unknownKeysPerMinute + 1; count += 1) {
    assert.equal(unknown(`d${count}`).waitSeconds, 0, "full buckets were kept");
  }
});

test("a whole /64 of IPv6 counts as one address, and IPv4 in IPv6 as IPv4", () => {
  const { unknown } = scene();
  for (let count = 0; count < unknownKeysPerMinute; count += 1)
    assert.equal(unknown(`2001:db8:0:1::${count.toString(16)}`).waitSeconds, 0);
  assert.equal(unknown("2001:db8:0:1:ffff::1").waitSeconds, 1);
  assert.equal(unknown("2001:db8:0:2::1").waitSeconds, 0);
  for (let count = 0; count < unknownKeysPerMinute; count += 1)
    assert.equal(unknown(`::ffff:192.0.2.${count % 2 === 0 ? 1 : 2}`).waitSeconds, 0);
});
