import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type DeliveryEvent,
  type DeliveryEventKind,
  endings,
  eventsIn,
  isTooOld,
  transition,
  type TransitionInput,
} from "./delivery-state.ts";
import {
  agesFrom,
  type DeliveryProgress,
  deliveryStates,
  scheduledAttempts,
  type WaitingState,
  waitingStates,
} from "./delivery.ts";
import type { Verdict } from "./classify.ts";
import { standard } from "./profiles/standard.ts";
import { attemptsMax } from "./retry-schedule.ts";

const createdAt = 1_800_000_000_000;
const policy = { ...standard, attemptsMax: attemptsMax(standard.schedule) };

const fresh: DeliveryProgress<WaitingState> = {
  state: "pending",
  attemptCount: 0,
  createdAt,
  firstAttemptAt: null,
  dueAt: createdAt,
  reason: null,
  retried: null,
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

/** Must be called only with events that are allowed in the current state; the compiler cannot check that here. */
function step(progress: DeliveryProgress, event: DeliveryEvent, now: number, random = 0): DeliveryProgress {
  assert.ok(canHappen(event, progress), `${event.kind} in state ${progress.state}`);
  const waiting = { ...progress } as DeliveryProgress<WaitingState>;
  const input = { progress: waiting, event, policy, now, random } as TransitionInput<WaitingState>;
  const after = transition(input);
  return after === waiting ? progress : after;
}

function canHappen({ kind }: DeliveryEvent, { state }: DeliveryProgress): boolean {
  const kinds: readonly DeliveryEventKind[] = eventsIn[state];
  return kinds.includes(kind);
}

test("EDS-6.2-1 an accepted first request ends the delivery", () => {
  assert.deepEqual(step(fresh, attempted(accepted, createdAt + 5), createdAt + 50), {
    ...fresh,
    state: "success",
    attemptCount: 1,
    firstAttemptAt: createdAt + 5,
  });
});

test("EDS-6.1-3 EDS-6.2-2 WDS-149 a transient failure schedules the next request from the end of this one", () => {
  const dueAt = createdAt + 800 + 5_000;
  const reason = "server_error_503";
  assert.deepEqual(step(fresh, attempted(transient, createdAt), createdAt + 800), {
    ...fresh,
    state: "failed",
    attemptCount: 1,
    firstAttemptAt: createdAt,
    dueAt,
    reason,
  });
});

test("TS16-106 EDS-9.6-3 EDS-11.8-1 WDS-126 a receiver that always fails gets ten requests at the listed times, and the delivery is exhausted right after the tenth", () => {
  let progress: DeliveryProgress = fresh;
  const times: number[] = [];
  while (progress.state === "pending" || progress.state === "failed") {
    times.push((progress.dueAt - createdAt) / 1_000);
    progress = step(progress, attempted(transient, progress.dueAt), progress.dueAt);
  }
  assert.deepEqual(times, [0, 5, 305, 2_105, 9_305, 27_305, 63_305, 113_705, 185_705, 272_105]);
  assert.deepEqual(
    [progress.state, progress.reason, progress.attemptCount],
    ["exhausted", "max_attempts_exceeded", 10],
  );
});

test("WDS-126 the last allowed request exhausts a delivery, regardless of its age and Retry-After", () => {
  const { ageMsMax, attemptsMax: max } = policy;
  const last = (attemptCount: number, now: number, retryAfterMs: number | null): DeliveryProgress => {
    const progress = { ...fresh, state: "failed", attemptCount, firstAttemptAt: createdAt } as const;
    return step(progress, attempted(transient, now, retryAfterMs), now);
  };
  const tooOld = createdAt + ageMsMax + 1;
  for (const [now, retryAfterMs] of [
    [createdAt, null],
    [createdAt, ageMsMax + 1],
    [tooOld, null],
    [tooOld, ageMsMax + 1],
  ] as const) {
    const after = last(max - 1, now, retryAfterMs);
    assert.deepEqual(
      [after.state, after.reason, after.attemptCount],
      ["exhausted", "max_attempts_exceeded", max],
      `${now - createdAt} ms old, Retry-After ${retryAfterMs}`,
    );
  }
  // The reason for a permanent refusal includes the status, even on the last attempt.
  const refused = { ...fresh, state: "failed", attemptCount: max - 1, firstAttemptAt: createdAt } as const;
  assert.equal(step(refused, attempted(terminal, createdAt), createdAt).reason, "permanent_client_error_410");
  // With one attempt fewer, the other reasons apply.
  assert.equal(last(max - 2, createdAt, null).state, "failed");
  assert.equal(last(max - 2, createdAt, ageMsMax + 1).reason, "retry_after_beyond_horizon");
  assert.equal(last(max - 2, tooOld, null).reason, "expired");
});

test("EDS-6.2-3 a terminal outcome is dead-lettered with its own reason, and not retried", () => {
  const dead = step(fresh, attempted(terminal, createdAt), createdAt);
  assert.deepEqual([dead.state, dead.reason], ["exhausted", "permanent_client_error_410"]);
});

test("Retry-After is respected up to the maximum age; after that, nothing is sent early", () => {
  const until = (retryAfterMs: number) =>
    step(fresh, attempted(transient, createdAt, retryAfterMs), createdAt);
  assert.equal(until(policy.ageMsMax).dueAt, createdAt + policy.ageMsMax);
  const beyond = until(policy.ageMsMax + 1);
  assert.deepEqual([beyond.state, beyond.reason], ["exhausted", "retry_after_beyond_horizon"]);
});

test("EDS-9.6-3 EDS-11.8-1 a retry that could start only after the maximum age is not scheduled", () => {
  const now = createdAt + policy.ageMsMax - 4_999;
  const dead = step(fresh, attempted(transient, now), now);
  assert.deepEqual([dead.state, dead.reason], ["exhausted", "expired"]);
});

test("WDS-150 waiting uses no attempt, but maximum age ends it", () => {
  const { ageMsMax } = policy;
  assert.equal(isTooOld(fresh, ageMsMax, createdAt + ageMsMax), false);
  assert.equal(isTooOld(fresh, ageMsMax, createdAt + ageMsMax + 1), true);
  const expired = step(fresh, { kind: "expired" }, createdAt + ageMsMax + 1);
  assert.deepEqual([expired.state, expired.reason, expired.attemptCount], ["exhausted", "expired", 0]);
});

test("a schedule shortened while a delivery waits ends the delivery at its next failure", () => {
  const progress: DeliveryProgress<WaitingState> = {
    ...fresh,
    state: "failed",
    attemptCount: 7,
    firstAttemptAt: createdAt,
  };
  const event = attempted(transient, createdAt);
  const shortened = { ...policy, attemptsMax: 3 };
  const input = { progress, event, policy: shortened, now: createdAt, random: 0 };
  const after = transition(input as TransitionInput<WaitingState>);
  assert.deepEqual([after.state, after.attemptCount], ["exhausted", 8]);
});

for (const [kind, ending] of Object.entries(endings) as [keyof typeof endings, object][]) {
  const ends = kind === "discarded" ? ["exhausted"] : waitingStates;
  test(`${kind} ends the states listed in its data, and does not change ended deliveries`, () => {
    for (const state of deliveryStates) {
      const progress: DeliveryProgress = { ...fresh, state, reason: "before" };
      if (!canHappen({ kind }, progress)) continue;
      const isEnded = ends.some((each) => each === state);
      const after = step(progress, { kind }, createdAt);
      assert.deepEqual(after, isEnded ? { ...progress, ...ending } : progress);
    }
  });
}

for (const ended of ["webhook_deleted", "cancel_requested", "expired"] as const) {
  test(`a response after the delivery was ${ended}: an acceptance changes the state, other outcomes only add history`, () => {
    const before = step(fresh, { kind: ended }, createdAt);
    const failed = step(before, attempted(transient, createdAt), createdAt);
    assert.deepEqual(failed, { ...before, attemptCount: 1, firstAttemptAt: createdAt });
    const refused = step(failed, attempted(terminal, createdAt + 1), createdAt);
    assert.deepEqual(refused, { ...failed, attemptCount: 2 });
    const late = step(refused, attempted(accepted, createdAt), createdAt);
    assert.deepEqual(late, { ...refused, state: "success", attemptCount: 3, reason: null });
  });
}

for (const state of ["exhausted", "cancelled", "skipped", "failed"] as const) {
  test(`WDS-111 a retry of a delivery in state ${state} keeps its attempts, is due at once, and restarts schedule and age`, () => {
    const old: DeliveryProgress = {
      ...fresh,
      state,
      attemptCount: state === "skipped" ? 0 : 9,
      firstAttemptAt: state === "skipped" ? null : createdAt,
      dueAt: createdAt + 10 * policy.ageMsMax,
      reason: "before",
    };
    const now = createdAt + 2 * policy.ageMsMax;
    const retried = step(old, { kind: "retried" }, now);
    const { attemptCount } = old;
    assert.deepEqual(retried, {
      ...old,
      state: "pending",
      dueAt: now,
      reason: null,
      retried: { at: now, attemptCount },
    });
    assert.equal(isTooOld(retried, policy.ageMsMax, now + policy.ageMsMax), false);
    const failed = step(retried, attempted(transient, now), now);
    assert.deepEqual([failed.state, failed.attemptCount], ["failed", attemptCount + 1]);
    assert.equal(failed.dueAt, now + 5_000, "the first delay of the schedule");
    let last = failed;
    while (last.state === "failed") last = step(last, attempted(transient, last.dueAt), last.dueAt);
    assert.deepEqual([last.reason, last.attemptCount], ["max_attempts_exceeded", attemptCount + 10]);
  });
}

test("a retry of a due delivery changes nothing, so repeated calls have no effect", () => {
  const due = step(fresh, { kind: "retried" }, createdAt);
  assert.deepEqual(due, fresh);
  const retried = step({ ...fresh, state: "exhausted" }, { kind: "retried" }, createdAt + 5);
  assert.deepEqual(step(retried, { kind: "retried" }, createdAt + 6), retried);
});

// ---- model: any events in any order ---------------------------------------------------------------------------

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
      { kind: "retried" },
      { kind: "payload_unavailable" },
      { kind: "foreign_webhook" },
      { kind: "payload_refused" },
      { kind: "compose_failed" },
      { kind: "webhook_deleted" },
    ),
  },
);
const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const steps = fc.array(fc.tuple(events, fc.integer({ min: 0, max: 86_400_000 }), unit), { maxLength: 40 });

/** Tracks only whether a request was accepted, how many requests were sent, and whether the delivery has ended. */
interface Model {
  attempts: number;
  accepted: boolean;
  final: boolean;
}

function checkStep(model: Model, event: DeliveryEvent, progress: DeliveryProgress): void {
  if (event.kind === "attempted") model.attempts += 1;
  if (event.kind === "attempted" && event.verdict.outcome === "accepted") model.accepted = true;
  assert.equal(progress.attemptCount, model.attempts);
  assert.equal(progress.state === "success", model.accepted, "success exactly when a request was accepted");
  assert.equal(progress.firstAttemptAt === null, model.attempts === 0);
  assert.notEqual(progress.state, "skipped");
  const final = progress.state !== "failed" && progress.state !== "pending";
  if (model.final && event.kind !== "retried") assert.ok(final, "what ended waits again for a retry alone");
  model.final = final;
}

test("property: the model and the machine agree for any sequence of events", () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const model: Model = { attempts: 0, accepted: false, final: false };
      let progress: DeliveryProgress = fresh;
      let now = createdAt;
      for (const [event, elapsedMs, random] of sequence) {
        now += elapsedMs;
        if (!canHappen(event, progress)) continue;
        progress = step(progress, event, now, random);
        checkStep(model, event, progress);
        if (progress.state !== "failed" || event.kind !== "attempted") continue;
        assert.ok(
          progress.dueAt <= agesFrom(progress) + policy.ageMsMax &&
            scheduledAttempts(progress) < policy.attemptsMax,
        );
        assert.ok(progress.dueAt >= now + (event.retryAfterMs ?? 0));
      }
    }),
    { numRuns: 300 },
  );
});

test("property: arguments are never modified", () => {
  fc.assert(
    fc.property(events, unit, (event, random) => {
      const progress = Object.freeze({ ...fresh });
      const input = { progress, event: Object.freeze(event), policy, now: createdAt, random };
      transition(input as TransitionInput<WaitingState>);
      assert.deepEqual(progress, fresh);
    }),
  );
});
