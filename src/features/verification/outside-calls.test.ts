import { strict as assert } from "node:assert";
import { describe, it } from "node:test";
import { PosthornError } from "../../domain/errors.ts";
import { OutsideCalls } from "./outside-calls.ts";

const few = { atOnce: 2, perMinute: 3 };
const many = { atOnce: 100, perMinute: 1_000 };

function setUp(limits: Partial<ConstructorParameters<typeof OutsideCalls>[1]>) {
  let nowMs = 1_000;
  const calls = new OutsideCalls(
    { monotonicMs: () => nowMs },
    { all: many, tenant: many, host: many, ...limits },
  );
  return {
    calls,
    wait: (ms: number) => (nowMs += ms),
    /** A call that lasts until the test releases it. */
    begin(tenantId: string, host: string) {
      const { promise, resolve } = Promise.withResolvers<string>();
      return {
        ended: calls.run(tenantId, `https://${host}/hook`, () => promise),
        release: () => resolve("done"),
      };
    },
  };
}

function refused(call: Promise<unknown>, retryAfterSeconds: number): Promise<void> {
  return assert.rejects(call, (error: unknown) => {
    assert.ok(error instanceof PosthornError);
    assert.equal(error.code, "rate_limited");
    assert.equal(error.retryAfterSeconds, retryAfterSeconds);
    return true;
  });
}

describe("direct requests to receivers", () => {
  for (const [kind, others] of [
    ["all", ["t2", "b.test"]],
    ["tenant", ["t1", "b.test"]],
    ["host", ["t2", "a.test"]],
  ] as const) {
    it(`are limited for ${kind}: concurrently, and per minute`, async () => {
      const { calls, begin, wait } = setUp({ [kind]: few });
      const [first, second] = [begin("t1", "a.test"), begin("t1", "a.test")];
      let ran = false;
      const [tenantId, host] = others;
      const call = () =>
        calls.run(tenantId, `https://${host}/`, async () => {
          ran = true;
        });
      await refused(call(), 5);
      assert.equal(ran, false);
      first.release();
      second.release();
      assert.deepEqual(await Promise.all([first.ended, second.ended]), ["done", "done"]);
      wait(10_000);
      await call();
      assert.equal(ran, true);
      await refused(call(), 50);
      wait(50_000);
      await call();
    });
  }

  it("leave capacity for other tenants and hosts", async () => {
    const { calls, begin } = setUp({ tenant: few, host: few });
    const running = [begin("t1", "a.test"), begin("t1", "a.test")];
    assert.equal(await calls.run("t2", "https://b.test/", async () => 1), 1);
    for (const { release, ended } of running) {
      release();
      await ended;
    }
  });

  it("are released after a failure", async () => {
    const { calls } = setUp({ all: { atOnce: 1, perMinute: 9 } });
    const failing = () => calls.run("t1", "https://a.test/", () => Promise.reject(new Error("no")));
    await assert.rejects(failing(), /no/);
    await assert.rejects(failing(), /no/);
  });
});
