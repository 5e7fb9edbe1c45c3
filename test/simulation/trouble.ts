import type { Scenario } from "./scenario.ts";
import type { SeededRandom } from "./seeded-random.ts";

export interface TroubleMakers {
  readonly after: (delayMs: number, run: () => void) => void;
  readonly createWebhook: () => void;
  readonly act: () => void;
  readonly crash: () => void;
  readonly jump: (byMs: number) => void;
}

const jumpsMs = [-3_600_000, -5_000, 5_000, 3_600_000];

/** Distributes the events of a world over its trouble period. */
export function planTrouble(scenario: Scenario, random: SeededRandom, makers: TroubleMakers): void {
  const sometime = (run: () => void): void =>
    makers.after(random.int({ min: 1, max: scenario.troubleMs }), run);
  const times = (count: number, plan: () => void): void => {
    for (let index = 0; index < count; index += 1) plan();
  };
  // Webhooks are created first, so that events have targets.
  let delayMs = 10;
  times(scenario.webhooks, () => makers.after((delayMs += 1), makers.createWebhook));
  times(scenario.actions, () => sometime(makers.act));
  times(scenario.crashesAnytime, () => sometime(makers.crash));
  times(scenario.clockJumps, () => {
    const byMs = random.pick(jumpsMs);
    sometime(() => makers.jump(byMs));
  });
}
