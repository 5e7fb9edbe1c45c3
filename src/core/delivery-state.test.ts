import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { DeliveryProgress } from "./delivery.ts";
import { transition } from "./delivery-state.ts";
import type { DeliveryEvent, TransitionResult } from "./delivery-state.ts";
import type { Verdict } from "./outcome.ts";
import { standard } from "./profiles/standard.ts";
import { attemptsMax } from "./retry-schedule.ts";

const createdAt = 1_800_000_000_000;
const policy = { ...standard, attemptsMax: attemptsMax(standard.schedule) };

const fresh: DeliveryProgress = {
  state: "pending",
  attemptCount: 0,
  createdAt,
  firstAttemptAt: null,
  dueAt: createdAt,
  reason: null,
};
const accepted: Verdict = { outcome: "accepted", receiverStateUnknown: false, reason: "success" };
const transient: Verdict = {
  outcome: "transient",
  receiverStateUnknown: false,
  category: "server_error",
  reason: "server_error_503",
};
const terminal: Verdict = {
  outcome: "terminal",
  receiverStateUnknown: false,
  category: "client_error",
  reason: "permanent_client_error_410",
};

function attempted(verdict: Verdict, executedAt: number, retryAfterMs: number | null = null): DeliveryEvent {
  return { kind: "attempted", verdict, executedAt, retryAfterMs, retryAtOnce: false };
}

function step(progress: DeliveryProgress, event: DeliveryEvent, now: number): TransitionResult {
  return transition({ progress, event, policy, now, random: 0 });
}

function movedTo(result: TransitionResult): DeliveryProgress {
  assert.ok(result.kind === "moved");
  return result.progress;
}

test("EDS-6.2-1 a first request that is accepted ends the delivery", () => {
  const result = step(fresh, attempted(accepted, createdAt + 5), createdAt + 50);
  assert.deepEqual(result, {
    kind: "moved",
    progress: { ...fresh, state: "success", attemptCount: 1, firstAttemptAt: createdAt + 5 },
    effects: [{ kind: "completed", late: false }],
  });
});

test("EDS-6.1-3 EDS-6.2-2 WDS-149 a transient failure schedules the next request from the end of this one", () => {
  const result = step(fresh, attempted(transient, createdAt), createdAt + 800);
  const dueAt = createdAt + 800 + 5_000;
  const reason = "server_error_503";
  assert.deepEqual(result, {
    kind: "moved",
    progress: { ...fresh, state: "failed", attemptCount: 1, firstAttemptAt: createdAt, dueAt, reason },
    effects: [{ kind: "schedule", dueAt }],
  });
});

test("TS16-106 EDS-9.6-3 EDS-11.8-1 WDS-126 always failing: ten requests at the printed times, exhausted right after the tenth", () => {
  let progress = fresh;
  const times: number[] = [];
  while (progress.state === "pending" || progress.state === "failed") {
    times.push((progress.dueAt - createdAt) / 1_000);
    progress = movedTo(step(progress, attempted(transient, progress.dueAt), progress.dueAt));
  }
  assert.deepEqual(times, [0, 5, 305, 2_105, 9_305, 27_305, 63_305, 113_705, 185_705, 272_105]);
  assert.deepEqual(
    [progress.state, progress.reason, progress.attemptCount],
    ["exhausted", "max_attempts_exceeded", 10],
  );
});

test("EDS-6.2-3 a terminal outcome is dead-lettered under its own reason, and not retried", () => {
  const result = step(fresh, attempted(terminal, createdAt), createdAt);
  assert.ok(result.kind === "moved");
  assert.deepEqual(result.effects, [{ kind: "dead_letter", reason: "permanent_client_error_410" }]);
  assert.equal(result.progress.reason, "permanent_client_error_410");
});

test("Retry-After is honoured up to the maximum age, and beyond it nothing is sent early", () => {
  const until = (retryAfterMs: number) =>
    step(fresh, attempted(transient, createdAt, retryAfterMs), createdAt);
  assert.equal(movedTo(until(policy.ageMsMax)).dueAt, createdAt + policy.ageMsMax);
  const beyond = until(policy.ageMsMax + 1);
  assert.ok(beyond.kind === "moved");
  assert.deepEqual(beyond.effects, [{ kind: "dead_letter", reason: "retry_after_beyond_horizon" }]);
});

test("EDS-9.6-3 EDS-11.8-1 a retry that could only start after the maximum age is not waited for", () => {
  const now = createdAt + policy.ageMsMax - 4_999;
  const result = step(fresh, attempted(transient, now), now);
  assert.ok(result.kind === "moved");
  assert.deepEqual(result.effects, [{ kind: "dead_letter", reason: "expired" }]);
});

test("WDS-150 waiting consumes no attempt, but age ends it", () => {
  const horizon = createdAt + policy.ageMsMax;
  assert.deepEqual(step(fresh, { kind: "expired" }, horizon), { kind: "refused", reason: "not_yet_expired" });
  const expired = movedTo(step(fresh, { kind: "expired" }, horizon + 1));
  assert.deepEqual([expired.state, expired.reason, expired.attemptCount], ["exhausted", "expired", 0]);
});

test("a schedule shortened under a waiting delivery ends it with its next failure", () => {
  const progress: DeliveryProgress = {
    ...fresh,
    state: "failed",
    attemptCount: 7,
    firstAttemptAt: createdAt,
  };
  const event = attempted(transient, createdAt);
  const result = transition({
    progress,
    event,
    policy: { ...policy, attemptsMax: 3 },
    now: createdAt,
    random: 0,
  });
  assert.deepEqual([movedTo(result).state, movedTo(result).attemptCount], ["exhausted", 8]);
});

test("accepted after it was cancelled: the receiver has it, so it is a success", () => {
  const cancelled = movedTo(step(fresh, { kind: "cancelled", reason: "by owner" }, createdAt));
  assert.deepEqual([cancelled.state, cancelled.reason], ["cancelled", "by owner"]);
  const failed = movedTo(step(cancelled, attempted(transient, createdAt), createdAt));
  assert.deepEqual([failed.state, failed.reason, failed.attemptCount], ["cancelled", "by owner", 1]);
  const late = step(failed, attempted(accepted, createdAt), createdAt);
  assert.ok(late.kind === "moved");
  assert.deepEqual([late.progress.state, late.progress.attemptCount], ["success", 2]);
  assert.deepEqual(late.effects, [{ kind: "completed", late: true }]);
});

test("accepted after it was given up: the dead letter is closed", () => {
  const expired = movedTo(step(fresh, { kind: "expired" }, createdAt + policy.ageMsMax + 1));
  const late = step(expired, attempted(accepted, createdAt), createdAt);
  assert.ok(late.kind === "moved");
  assert.deepEqual(
    late.effects.map((effect) => effect.kind),
    ["completed", "dead_letter_closed"],
  );
});

test("a manual retry takes over a waiting delivery and closes a dead letter", () => {
  const waiting = movedTo(step(fresh, { kind: "superseded" }, createdAt));
  assert.deepEqual([waiting.state, waiting.reason], ["cancelled", "superseded"]);
  const dead = movedTo(step(fresh, attempted(terminal, createdAt), createdAt));
  const closed = step(dead, { kind: "superseded" }, createdAt);
  assert.deepEqual(closed, {
    kind: "moved",
    progress: dead,
    effects: [{ kind: "dead_letter_closed", by: "manual_retry" }],
  });
});

// ---- model: whatever happens, in whatever order ---------------------------------------------------------------

const verdicts = fc.constantFrom(accepted, transient, terminal);
const events: fc.Arbitrary<DeliveryEvent> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(verdicts, fc.option(fc.integer({ min: 1, max: 6 * 86_400_000 })))
      .map(([verdict, retryAfterMs]) => attempted(verdict, createdAt, retryAfterMs)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<DeliveryEvent>(
      { kind: "expired" },
      { kind: "superseded" },
      { kind: "payload_unavailable" },
      { kind: "foreign_webhook" },
      { kind: "payload_refused", reason: "empty_data" },
      { kind: "cancelled", reason: "by owner" },
    ),
  },
);
const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const steps = fc.array(fc.tuple(events, fc.integer({ min: 0, max: 86_400_000 }), unit), { maxLength: 40 });

/** Knows only: was a request accepted, how many were made, is it over. */
interface Model {
  attempts: number;
  accepted: boolean;
  final: boolean;
}

function checkStep(
  model: Model,
  before: DeliveryProgress,
  event: DeliveryEvent,
  result: TransitionResult,
): void {
  if (result.kind !== "moved") {
    assert.ok(event.kind !== "attempted", "an attempt is always recorded");
    assert.ok(model.final || event.kind === "expired");
    return;
  }
  const { progress, effects } = result;
  if (event.kind === "attempted") model.attempts += 1;
  if (event.kind === "attempted" && event.verdict.outcome === "accepted") model.accepted = true;
  assert.equal(progress.attemptCount, model.attempts);
  assert.equal(progress.state === "success", model.accepted, "success exactly when a request was accepted");
  assert.equal(progress.firstAttemptAt === null, model.attempts === 0);
  assert.notEqual(progress.state, "skipped");
  const final = progress.state !== "failed" && progress.state !== "pending";
  if (model.final) assert.ok(final, "what ended never waits again");
  model.final = final;
  const deadLetters = effects.filter((effect) => effect.kind === "dead_letter");
  const newlyExhausted = progress.state === "exhausted" && before.state !== "exhausted";
  assert.equal(deadLetters.length, newlyExhausted ? 1 : 0, "one dead letter for each delivery given up");
  assert.equal(
    effects.some((effect) => effect.kind === "schedule"),
    progress.state === "failed",
  );
}

test("property: over any sequence of events the model and the machine agree", () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const model: Model = { attempts: 0, accepted: false, final: false };
      let progress = fresh;
      let now = createdAt;
      for (const [event, elapsedMs, random] of sequence) {
        now += elapsedMs;
        const before = progress;
        const result = transition({ progress: before, event, policy, now, random });
        checkStep(model, before, event, result);
        if (result.kind !== "moved") continue;
        progress = result.progress;
        if (progress.state !== "failed") continue;
        assert.ok(
          progress.dueAt <= createdAt + policy.ageMsMax && progress.attemptCount < policy.attemptsMax,
        );
        if (event.kind === "attempted") assert.ok(progress.dueAt >= now + (event.retryAfterMs ?? 0));
      }
    }),
    { numRuns: 300 },
  );
});

test("property: nothing that is passed in is changed", () => {
  fc.assert(
    fc.property(events, unit, (event, random) => {
      const progress = Object.freeze({ ...fresh });
      transition({ progress, event: Object.freeze(event), policy, now: createdAt, random });
      assert.deepEqual(progress, fresh);
    }),
  );
});
