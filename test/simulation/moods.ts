import type { AttemptObservation } from "../../src/domain/classify.ts";
import type { SeededRandom } from "./seeded-random.ts";

export type Mood =
  | "healthy"
  | "flaky"
  | "slow"
  | "down"
  | "throttled"
  | "overloaded"
  | "gone"
  | "missing"
  | "picky"
  | "hanging"
  | "resetting"
  | "redirecting"
  | "truncating"
  | "strange";

/** How a receiver in a given mood handles one request. */
export interface Reaction {
  readonly afterMs: number;
  readonly arrives: boolean;
  /** Whether the receiver processes the event, regardless of how it responds. */
  readonly processes: boolean;
  readonly answer: (now: number) => AttemptObservation;
  /**
   * The time before which the receiver asks not to be called again, in Unix ms. Null if it does not ask for that, or if
   * the value is unreadable.
   */
  readonly retryNotBefore: (now: number) => number | null;
}

export interface Encounter {
  readonly random: SeededRandom;
  readonly now: number;
  readonly timeoutMs: number;
}

export const moods: Readonly<Record<Mood, (encounter: Encounter) => Reaction>> = {
  healthy: ({ random }) =>
    response({ status: random.pick([200, 200, 200, 201, 202, 204]), afterMs: quick(random) }),
  flaky: (encounter) => flaky(encounter),
  slow: ({ random }) => response({ status: 200, afterMs: random.int({ min: 1_200, max: 25_000 }) }),
  down: ({ random }) =>
    failure({ category: random.pick(["network", "dns", "ssl"]), requestSent: false, afterMs: quick(random) }),
  throttled: ({ random }) => asking({ status: 429, random }),
  overloaded: ({ random }) => asking({ status: 503, random }),
  gone: ({ random }) => response({ status: random.chance(0.5) ? 410 : 200, afterMs: quick(random) }),
  missing: ({ random }) => response({ status: 404, afterMs: quick(random) }),
  picky: ({ random }) =>
    response({ status: random.pick([200, 400, 413, 422, 200, 451]), afterMs: quick(random) }),
  hanging: ({ random, timeoutMs }) => ({
    ...response({ status: 200, afterMs: timeoutMs + 1 }),
    processes: random.chance(0.5),
  }),
  resetting: ({ random }) => ({
    ...failure({ category: random.pick(["network", "protocol"]), requestSent: true, afterMs: quick(random) }),
    processes: random.chance(0.5),
  }),
  redirecting: ({ random }) =>
    response({ status: random.pick([301, 302, 307, 308]), afterMs: quick(random) }),
  truncating: ({ random }) => ({
    ...response({ status: 200, afterMs: quick(random), complete: false }),
    processes: true,
  }),
  strange: ({ random }) =>
    response({ status: random.pick([100, 199, 207, 299, 418, 600, 999]), afterMs: quick(random) }),
};

function flaky({ random, timeoutMs }: Encounter): Reaction {
  if (random.chance(0.6)) return response({ status: 200, afterMs: quick(random) });
  if (random.chance(0.1)) return response({ status: 200, afterMs: timeoutMs + 1 });
  if (random.chance(0.2))
    return failure({ category: "network", requestSent: random.chance(0.5), afterMs: quick(random) });
  return response({ status: random.pick([500, 502, 503, 504, 408, 409, 425]), afterMs: quick(random) });
}

function quick(random: SeededRandom): number {
  return random.int({ min: 1, max: 400 });
}

function response(input: {
  readonly status: number;
  readonly afterMs: number;
  readonly complete?: boolean;
}): Reaction {
  const { status, complete = true } = input;
  return {
    afterMs: input.afterMs,
    arrives: true,
    processes: status >= 200 && status < 300,
    answer: () => ({ kind: "response", status, complete }),
    retryNotBefore: () => null,
  };
}

function failure(input: {
  readonly category: "network" | "dns" | "ssl" | "protocol";
  readonly requestSent: boolean;
  readonly afterMs: number;
}): Reaction {
  const { category, requestSent } = input;
  return {
    afterMs: input.afterMs,
    arrives: requestSent,
    processes: false,
    answer: () => ({ kind: "failure", category, requestSent }),
    retryNotBefore: () => null,
  };
}

interface RetryAfterText {
  readonly text: (now: number) => string | undefined;
  readonly notBefore: (now: number) => number | null;
}

/** Retry-After in all its forms, valid and invalid (EDS-9.5). */
function asking({ status, random }: { readonly status: number; readonly random: SeededRandom }): Reaction {
  const form =
    retryAfterForms(random)[random.weighted({ seconds: 8, date: 6, far: 1, absent: 3, silly: 3, past: 1 })];
  return {
    afterMs: quick(random),
    arrives: true,
    processes: false,
    answer: (now) => {
      const retryAfter = form.text(now);
      return {
        kind: "response",
        status,
        complete: true,
        ...(retryAfter === undefined ? {} : { retryAfter }),
      };
    },
    retryNotBefore: form.notBefore,
  };
}

function retryAfterForms(
  random: SeededRandom,
): Readonly<Record<"seconds" | "date" | "far" | "absent" | "silly" | "past", RetryAfterText>> {
  const seconds = random.int({ min: 1, max: random.pick([30, 600, 7_200, 40_000]) });
  const nothing = (): null => null;
  const dateAt = (now: number): number => Math.floor((now + seconds * 1_000) / 1_000) * 1_000;
  return {
    seconds: { text: () => String(seconds), notBefore: (now) => now + seconds * 1_000 },
    date: { text: (now) => new Date(dateAt(now)).toUTCString(), notBefore: dateAt },
    far: { text: () => "99999999999", notBefore: () => Number.MAX_SAFE_INTEGER },
    absent: { text: () => undefined, notBefore: nothing },
    silly: {
      text: () => random.pick(["soon", "-5", "1.5", "", "0", "Tomorrow, 25 Foo 2026"]),
      notBefore: nothing,
    },
    past: { text: () => "Sun, 06 Nov 1994 08:49:37 GMT", notBefore: nothing },
  };
}
