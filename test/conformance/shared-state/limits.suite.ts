import assert from "node:assert/strict";
import type { RateLimitConfig } from "../../../src/domain/profile.ts";
import type { SharedState, TokenDraw, TokenGrant } from "../../../src/ports/shared-state.ts";
import type { SharedStateTheme } from "./shared-state.suite.ts";

/** One token per hour, so none is refilled while a test runs. */
const frozen = { requestsPerMinute: 1 / 60, burst: 20 };
const hour = 3_600_000;
const key = "tenant-1";

function drawn(
  tokens: number,
  limit: RateLimitConfig = frozen,
  { key: of = key }: Partial<TokenDraw> = {},
): TokenDraw {
  return { key: of, limit, tokens };
}

async function draw(state: SharedState, entry: TokenDraw): Promise<TokenGrant> {
  const [grant] = await state.limits.draw([entry]);
  assert.ok(grant !== undefined);
  return grant;
}

async function grantedOf(state: SharedState, entry: TokenDraw): Promise<number> {
  return (await draw(state, entry)).granted;
}

/** Asserts that the wait is at most `whole`, but not half a minute shorter. A test may take that long. */
function assertWait(waitMs: number, whole: number): void {
  assert.ok(Number.isInteger(waitMs) && waitMs <= whole && waitMs > whole - 30_000, `${waitMs} of ${whole}`);
}

export const limits: SharedStateTheme = (check) => {
  check("WDS-36 two workers share the bucket of a tenant, and further requests wait", async (state, open) => {
    const other = await open.openAnother();
    assert.deepEqual(await draw(state, drawn(12)), { granted: 12, waitMs: 0 });
    const { granted, waitMs } = await draw(other, drawn(12));
    assert.equal(granted, 8);
    assertWait(waitMs, hour);
    assert.equal(await grantedOf(state, drawn(1)), 0);
  });

  check("entries of a batch are answered in order, even for one key", async (state) => {
    const grants = await state.limits.draw([
      drawn(15),
      drawn(3, frozen, { key: "tenant-2" }),
      drawn(15),
      drawn(1),
      drawn(0),
    ]);
    assert.deepEqual(
      grants.map(({ granted }) => granted),
      [15, 3, 5, 0, 0],
    );
    assert.deepEqual(
      grants.map(({ waitMs }) => waitMs > 0),
      [false, false, true, true, false],
    );
    assert.deepEqual(await state.limits.draw([]), []);
    await state.limits.giveBack([]);
  });

  check("waiting for the returned time is enough, and a refilled token is granted", async (state, open) => {
    // Long enough for a machine that is busy with other work.
    const slow = { requestsPerMinute: 30, burst: 2 };
    assert.equal(await grantedOf(state, drawn(2, slow)), 2);
    const { granted, waitMs } = await draw(state, drawn(1, slow));
    assert.equal(granted, 0);
    assert.ok(waitMs > 0 && waitMs <= 2_000, `${waitMs}`);
    await open.pass(waitMs);
    assert.equal(await grantedOf(state, drawn(1, slow)), 1);
  });

  check("a long-idle bucket holds no more than its burst", async (state, open) => {
    const fast = { requestsPerMinute: 60_000, burst: 3 };
    await state.limits.draw([drawn(3, fast)]);
    await open.pass(50);
    assert.equal(await grantedOf(state, drawn(3, { ...frozen, burst: 3 })), 3);
    assert.equal(await grantedOf(state, drawn(3, { ...frozen, burst: 3 })), 0);
  });

  check("returned tokens are available again, to every caller", async (state, open) => {
    const other = await open.openAnother();
    await state.limits.draw([drawn(20)]);
    await state.limits.giveBack([drawn(7)]);
    assert.equal(await grantedOf(other, drawn(20)), 7);
  });

  check("a bucket never holds more than its burst, whatever is returned", async (state) => {
    await state.limits.giveBack([drawn(50)]);
    await state.limits.draw([drawn(2)]);
    await state.limits.giveBack([drawn(500), drawn(500)]);
    assert.equal(await grantedOf(state, drawn(100)), 20);
    await state.limits.giveBack([drawn(20), drawn(20)]);
    assert.equal(await grantedOf(state, drawn(100)), 20);
  });

  check("a new limit keeps the used tokens, so it does not bypass the old one", async (state) => {
    const one = { requestsPerMinute: 1, burst: 1 };
    assert.equal(await grantedOf(state, drawn(1, one)), 1);
    assert.equal(await grantedOf(state, drawn(1, { ...one })), 0);
    // One token counts as used for a minute. With a burst of two, the other token is available now.
    assert.equal(await grantedOf(state, drawn(2, { requestsPerMinute: 1, burst: 2 })), 1);
  });

  check("a smaller limit waits no longer than its own interval", async (state) => {
    await state.limits.draw([drawn(20)]);
    const strict = { requestsPerMinute: 60, burst: 1 };
    const { granted, waitMs } = await draw(state, drawn(1, strict));
    assert.equal(granted, 0);
    assert.ok(waitMs > 0 && waitMs <= 1_000, `${waitMs}`);
  });

  check("keys with any text are independent", async (state) => {
    const keys = ["a", "a:", "{a}", "}a{", "ä", "", " ", "a\r\nb", "\0", "a".repeat(1_000)];
    const grants = await state.limits.draw(keys.map((each) => drawn(20, frozen, { key: each })));
    assert.deepEqual(
      grants.map(({ granted }) => granted),
      keys.map(() => 20),
    );
  });

  check("an invalid limit or number of tokens is a bug of the caller", async (state) => {
    for (const limit of [
      { requestsPerMinute: 0, burst: 1 },
      { requestsPerMinute: 1, burst: 0 },
      { requestsPerMinute: Infinity, burst: 1 },
    ]) {
      await assert.rejects(state.limits.draw([drawn(1, limit)]), RangeError);
      await assert.rejects(state.limits.giveBack([drawn(1, limit)]), RangeError);
    }
    for (const tokens of [-1, 0.5, Number.NaN]) {
      await assert.rejects(state.limits.draw([drawn(tokens)]), RangeError);
      await assert.rejects(state.limits.giveBack([drawn(tokens)]), RangeError);
    }
    assert.equal(state.isAvailable, true);
    assert.equal(await grantedOf(state, drawn(100)), 20);
  });

  check("extreme limits are enforced too", async (state) => {
    const never = { requestsPerMinute: 1e-9, burst: 10_000_000 };
    assert.equal(await grantedOf(state, drawn(10_000, never)), 10_000);
    const always = { requestsPerMinute: 1e9, burst: 5 };
    assert.equal(await grantedOf(state, drawn(9, always, { key: "tenant-2" })), 5);
  });

  check("four concurrent connections never get more than the limit allows", async (state, open) => {
    const states = [state, await open.openAnother(), await open.openAnother(), await open.openAnother()];
    const limit = { requestsPerMinute: 6_000, burst: 50 };
    const before = await open.now();
    const rounds = await Promise.all(
      states.map(async (each) => {
        let granted = 0;
        for (let round = 0; round < 25; round += 1) {
          const grants = await each.limits.draw([drawn(1, limit), drawn(3, limit)]);
          granted += grants.reduce((sum, grant) => sum + grant.granted, 0);
        }
        return granted;
      }),
    );
    const elapsedMs = (await open.now()) - before;
    const granted = rounds.reduce((sum, each) => sum + each, 0);
    assert.ok(granted >= 50, `${granted}`);
    assert.ok(granted <= 50 + Math.floor(elapsedMs / 10) + 1, `${granted} in ${elapsedMs} ms`);
  });

  check("four connections share a fixed number of tokens exactly", async (state, open) => {
    const states = [state, await open.openAnother(), await open.openAnother(), await open.openAnother()];
    const limit = { ...frozen, burst: 100 };
    const rounds = await Promise.all(
      states.flatMap((each) =>
        Array.from({ length: 20 }, () => each.limits.draw([drawn(1, limit), drawn(2, limit)])),
      ),
    );
    assert.equal(
      rounds.flat().reduce((sum, grant) => sum + grant.granted, 0),
      100,
    );
  });

  check("after all data is lost a bucket is full", async (state, open) => {
    await state.limits.draw([drawn(20)]);
    await open.forget();
    await state.limits.giveBack([drawn(3)]);
    assert.equal(await grantedOf(state, drawn(30)), 20);
  });
};
