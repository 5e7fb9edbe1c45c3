import assert from "node:assert/strict";
import fc from "fast-check";
import type { RateLimitConfig } from "../../../src/domain/profile.ts";
import {
  createBucket,
  giveBack,
  peekWaitMs,
  type RateBucket,
  reconfigureBucket,
  tryTake,
} from "../../../src/domain/rate-limit.ts";
import type { SharedState, TokenGrant } from "../../../src/ports/shared-state.ts";
import type { OpenSharedState, SharedStateTheme } from "./shared-state.suite.ts";

/** The action of a client, and the connection and limit that it uses. */
interface Step {
  readonly client: number;
  readonly limit: RateLimitConfig;
  readonly kind: "draw" | "give_back";
  readonly tokens: number;
  readonly pauseMs: number;
}

/** Rates so low that nothing is refilled during a run, unless the test advances time. */
const slow = fc.record({
  requestsPerMinute: fc.constantFrom(1 / 60, 0.001, 0.0123),
  burst: fc.integer({ min: 1, max: 40 }),
});
const fast = fc.record({
  requestsPerMinute: fc.integer({ min: 1, max: 100_000 }),
  burst: fc.integer({ min: 1, max: 40 }),
});

function stepsOf(limits: fc.Arbitrary<RateLimitConfig>): fc.Arbitrary<readonly Step[]> {
  const limit = fc.array(limits, { minLength: 1, maxLength: 2 });
  const step = fc.record({
    client: fc.integer({ min: 0, max: 2 }),
    limit: fc.nat({ max: 1 }),
    kind: fc.constantFrom("draw", "draw", "give_back" as const),
    tokens: fc.integer({ min: 1, max: 12 }),
    pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2_000 })),
  });
  return fc
    .tuple(limit, fc.array(step, { minLength: 1, maxLength: 60 }))
    .map(([[first, second], steps]) =>
      steps.map((each) => ({ ...each, limit: (each.limit === 0 ? first : (second ?? first)) ?? neverUsed })),
    ) as fc.Arbitrary<readonly Step[]>;
}
const neverUsed: RateLimitConfig = { requestsPerMinute: 1, burst: 1 };

/** Does the same calculation with the domain's rate limit. */
class Model {
  #bucket: RateBucket | null = null;

  draw({ limit, tokens }: Step, now: number): TokenGrant {
    this.#bucket ??= createBucket(limit);
    reconfigureBucket(this.#bucket, limit);
    let granted = 0;
    while (granted < tokens && tryTake(this.#bucket, now) === 0) granted += 1;
    return { granted, waitMs: granted < tokens ? peekWaitMs(this.#bucket, now) : 0 };
  }

  giveBack({ limit, tokens }: Step): void {
    if (this.#bucket === null) return;
    reconfigureBucket(this.#bucket, limit);
    for (let count = 0; count < tokens; count += 1) giveBack(this.#bucket);
  }
}

async function threeStates(state: SharedState, open: OpenSharedState): Promise<readonly SharedState[]> {
  return [state, await open.openAnother(), await open.openAnother()];
}

function runs(open: OpenSharedState): fc.Parameters<[readonly Step[]]> {
  return { numRuns: open.isTimeDriven ? 300 : 40 };
}

async function act(
  states: readonly SharedState[],
  { step, key }: { readonly step: Step; readonly key: string },
) {
  const state = states[step.client];
  assert.ok(state !== undefined);
  const entries = [{ key, limit: step.limit, tokens: step.tokens }];
  if (step.kind === "draw") return (await state.limits.draw(entries))[0];
  await state.limits.giveBack(entries);
  return undefined;
}

export const limitModel: SharedStateTheme = (check) => {
  check(
    "property: several clients together get what the domain's rate limit gives one",
    async (state, open) => {
      const states = await threeStates(state, open);
      let run = 0;
      await fc.assert(
        fc.asyncProperty(stepsOf(open.isTimeDriven ? fc.oneof(slow, fast) : slow), async (steps) => {
          run += 1;
          const key = `run-${run}`;
          const model = new Model();
          const begun = await open.now();
          for (const step of steps) {
            if (open.isTimeDriven) await open.pass(step.pauseMs);
            const now = open.isTimeDriven ? await open.now() : begun;
            const grant = await act(states, { step, key });
            if (step.kind === "give_back") model.giveBack(step);
            else {
              const expected = model.draw(step, now);
              assert.equal(grant?.granted, expected.granted);
              const waitedMs = expected.waitMs - (grant?.waitMs ?? Number.NaN);
              const tolerance = open.isTimeDriven ? 0 : (await open.now()) - begun + 1;
              assert.ok(Math.abs(waitedMs) <= tolerance, `${grant?.waitMs} instead of ${expected.waitMs}`);
            }
          }
        }),
        runs(open),
      );
    },
  );

  check(
    "property: any window allows at most the burst plus the rate times its length",
    async (state, open) => {
      const states = await threeStates(state, open);
      let run = 0;
      await fc.assert(
        fc.asyncProperty(stepsOf(fast), async (steps) => {
          run += 1;
          const limit = steps[0]?.limit ?? neverUsed;
          const taken: { from: number; to: number; tokens: number }[] = [];
          let held = 0;
          for (const each of steps) {
            // Clients return only tokens that they have drawn. Returning more would create tokens.
            const tokens = each.kind === "draw" ? each.tokens : Math.min(each.tokens, held);
            const step = { ...each, limit, tokens };
            await open.pass(open.isTimeDriven ? step.pauseMs : step.pauseMs / 1_000);
            const from = await open.now();
            const grant = await act(states, { step, key: `run-${run}` });
            const more = grant?.granted ?? -tokens;
            held += more;
            taken.push({ from, to: await open.now(), tokens: more });
          }
          for (const [first, { from }] of taken.entries()) {
            let tokens = 0;
            for (const { to, tokens: more } of taken.slice(first)) {
              tokens += more;
              const most = limit.burst + Math.floor(((to - from + 1) * limit.requestsPerMinute) / 60_000);
              assert.ok(tokens <= most, `${tokens} in ${to - from} ms, at most ${most}`);
            }
          }
        }),
        runs(open),
      );
    },
  );
};
