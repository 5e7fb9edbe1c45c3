import { strict as assert } from "node:assert";
import { describe, it } from "node:test";
import { createAddressPolicy } from "../../domain/egress/address-policy.ts";
import type { Clock } from "../../ports/clock.ts";
import type { NamedAddress } from "../../ports/name-lookup.ts";
import { CheckedNames } from "./checked-names.ts";
import { TransportFault } from "./failures.ts";

const policy = createAddressPolicy([], false);

function setUp(answers: (hostname: string, query: number) => readonly string[] | Error, ttlMs = 60_000) {
  let nowMs = 1000;
  const clock = { monotonicMs: () => nowMs } as Clock;
  const queries: string[] = [];
  const source = {
    resolve: async (hostname: string): Promise<NamedAddress[]> => {
      queries.push(hostname);
      const answer = answers(hostname, queries.length);
      if (answer instanceof Error) throw answer;
      return answer.map((address) => ({ address, ttlMs }));
    },
    close: () => undefined,
  };
  const names = new CheckedNames(source, policy, clock);
  return { names, queries, wait: (delayMs: number) => (nowMs += delayMs) };
}

async function faultOf(promise: Promise<unknown>): Promise<TransportFault> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof TransportFault);
  return error;
}

describe("checked names", () => {
  it("WDS-214 keeps an answer for its time to live, between 5 s and 5 min", async () => {
    for (const { ttlMs, keptMs } of [
      { ttlMs: 0, keptMs: 5000 },
      { ttlMs: 60_000, keptMs: 60_000 },
      { ttlMs: 86_400_000, keptMs: 300_000 },
    ]) {
      const { names, queries, wait } = setUp(() => ["8.8.8.8"], ttlMs);
      await names.addressesOf("a.test");
      wait(keptMs - 1);
      await names.addressesOf("a.test");
      assert.equal(queries.length, 1);
      wait(1);
      await names.addressesOf("a.test");
      assert.equal(queries.length, 2);
    }
  });

  it("judges every new answer", async () => {
    const { names, wait } = setUp((_, query) => (query === 1 ? ["8.8.8.8"] : ["10.0.0.1"]));
    assert.deepEqual(await names.addressesOf("a.test"), ["8.8.8.8"]);
    wait(60_000);
    const fault = await faultOf(names.addressesOf("a.test"));
    assert.equal(fault.category, "network");
    assert.equal(fault.message, "egress refused: 10.0.0.1 is private");
  });

  it("drops refused addresses and alternates the families", async () => {
    const found = ["8.8.8.8", "10.0.0.1", "8.8.4.4", "2001:4860:4860::8888", "::ffff:10.0.0.1", "fd00::1"];
    const { names } = setUp(() => found);
    assert.deepEqual(await names.addressesOf("a.test"), ["8.8.8.8", "2001:4860:4860::8888", "8.8.4.4"]);
  });

  it("sends one query for concurrent lookups", async () => {
    const { names, queries } = setUp(() => ["8.8.8.8"]);
    await Promise.all([1, 2, 3].map(() => names.addressesOf("a.test")));
    assert.equal(queries.length, 1);
  });

  it("remembers failures for 5 s, with their reason", async () => {
    const { names, queries, wait } = setUp(() => Object.assign(new Error("x"), { code: "ESERVFAIL" }));
    for (let asked = 0; asked < 3; asked++) {
      const fault = await faultOf(names.addressesOf("a.test"));
      assert.equal(fault.category, "dns");
      assert.equal(fault.message, "cannot resolve a.test: ESERVFAIL");
    }
    assert.equal(queries.length, 1);
    wait(5000);
    await faultOf(names.addressesOf("a.test"));
    assert.equal(queries.length, 2);
  });

  it("is bounded in names and in addresses per name", async () => {
    const { names, queries } = setUp(() => Array.from({ length: 200 }, (_, last) => `8.8.8.${last}`));
    assert.equal((await names.addressesOf("n0.test")).length, 8);
    for (let count = 1; count <= 4096; count++) await names.addressesOf(`n${count}.test`);
    queries.length = 0;
    await names.addressesOf("n4096.test");
    assert.equal(queries.length, 0);
    await names.addressesOf("n0.test");
    assert.equal(queries.length, 1);
  });
});
