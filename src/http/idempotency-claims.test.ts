import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../engine/manual-clock.fixture.ts";
import { StoreUnavailableError } from "../ports/store.ts";
import type {
  ClaimedKey,
  IdempotencyAnswer,
  IdempotencyClaim,
  IdempotencyState,
} from "../ports/store/idempotency.ts";
import { createIdempotencyPage } from "./docs/pages.ts";
import { claimKeptMs, IdempotencyClaims } from "./idempotency.ts";

const call = { scope: "s", key: "k", fingerprint: "f" };
const nothing = (): void => undefined;

/** A store with scripted results that records its calls. */
function scene() {
  const clock = new ManualClock();
  const told: string[] = [];
  const world = {
    clock,
    told,
    isAway: false,
    state: { kind: "claimed" } as IdempotencyState,
    begun: [] as IdempotencyClaim[],
    renewed: [] as { readonly claims: readonly ClaimedKey[]; readonly until: number }[],
  };
  const tell = async (text: string): Promise<void> => {
    if (world.isAway) throw new StoreUnavailableError("away");
    told.push(text);
  };
  const store = {
    begin: async (entry: IdempotencyClaim) => {
      world.begun.push(entry);
      await tell(`begin ${entry.key}`);
      return world.state;
    },
    renew: async (claims: readonly ClaimedKey[], until: number) => {
      await tell("renew");
      world.renewed.push({ claims, until });
    },
    finish: (answer: IdempotencyAnswer) => tell(`finish ${answer.key} ${answer.status}`),
    abandon: (claim: ClaimedKey) => tell(`abandon ${claim.key} ${claim.claimToken}`),
  };
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const random = { bytes: (count: number) => new Uint8Array(count) };
  const claims = new IdempotencyClaims(store, clock, random, log);
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100);
      await clock.turn();
    }
  };
  return { ...world, world, claims, pass };
}

async function claimed(claims: IdempotencyClaims, of = call): Promise<ClaimedKey> {
  const begun = await claims.begin(of);
  assert.ok(!("kind" in begun));
  return begun;
}

test("a claim is renewed while its call runs, and no longer", async () => {
  const { claims, world, pass, clock } = scene();
  const claim = await claimed(claims);
  await pass(5 * claimKeptMs);
  assert.ok(world.renewed.length >= 5, `${world.renewed.length}`);
  assert.deepEqual(world.renewed.at(-1)?.claims, [claim]);
  await claims.end(claim, { status: 201, body: "b" });
  const renewals = world.renewed.length;
  await pass(5 * claimKeptMs);
  assert.equal(world.renewed.length, renewals);
  assert.equal(clock.timers, 0, "nothing is left that would look at nothing");
  assert.equal(world.told.filter((each) => each.startsWith("finish")).length, 1);
});

test("each claim of a process has its own token", async () => {
  const { claims } = scene();
  const tokens = [await claimed(claims), await claimed(claims)].map(({ claimToken }) => claimToken);
  assert.equal(new Set(tokens).size, 2);
});

for (const [name, end, expected] of [
  ["an abandoned claim", null, /^abandon k/],
  ["an answer", { status: 201, body: "b" }, /^finish k 201/],
] as const) {
  test(`${name} interrupted by an outage reaches the store as soon as it is back`, async () => {
    const { claims, world, pass } = scene();
    const claim = await claimed(claims);
    world.isAway = true;
    await claims.end(claim, end);
    await pass(60_000);
    world.told.length = 0;
    world.isAway = false;
    await pass(1_000);
    assert.match(world.told[0] ?? "", expected);
    await pass(60_000);
    assert.equal(world.told.length, 1);
  });
}

test("a repeat that comes first settles what the outage left open, and then runs", async () => {
  const { claims, world } = scene();
  const claim = await claimed(claims);
  world.isAway = true;
  await claims.end(claim, null);
  await assert.rejects(claims.begin(call), StoreUnavailableError);
  world.isAway = false;
  world.told.length = 0;
  await claimed(claims);
  assert.equal(world.told[0], `abandon k ${claim.claimToken}`);
  assert.equal(world.told.at(-1), "begin k");
});

test("a claim whose response was lost is abandoned, because it may have been written", async () => {
  const { claims, world, pass } = scene();
  world.isAway = true;
  await assert.rejects(claims.begin(call), StoreUnavailableError);
  world.isAway = false;
  await pass(1_000);
  assert.deepEqual(world.told, [`abandon k ${world.begun[0]?.claimToken}`]);
});

test("closing reports remaining work once, and does not wait for an unresponsive store", async () => {
  const { claims, world, clock } = scene();
  const claim = await claimed(claims);
  world.isAway = true;
  await claims.end(claim, null);
  world.isAway = false;
  await claims.close();
  assert.match(world.told.at(-1) ?? "", /^abandon k/);
  assert.equal(clock.timers, 0);
});

test("IDK-13 the published expiry is the retention of a response", async () => {
  const { claims, world, clock } = scene();
  await claimed(claims);
  assert.match(createIdempotencyPage(), /A response is kept for 24 hours\./);
  assert.equal((world.begun[0]?.expiresAt ?? 0) - clock.now(), 24 * 3_600_000);
});
