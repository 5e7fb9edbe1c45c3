/**
 * The steps at which the owner of a failing webhook is notified: the first problem, half the time to its end, one day
 * before, and the end. Times are Unix milliseconds.
 */
export type LadderStep = "first_problem" | "half_time" | "last_day" | "disabled";

export interface FailingWebhook {
  readonly failingSince: number;
  /** Null if no rule will disable it. */
  readonly disabledAt: number | null;
  /** The rules of its profile have stopped it. */
  readonly isStopped: boolean;
}

const firstProblemMs = 15 * 60_000;
const dayMs = 86_400_000;

/**
 * The steps that are due by now, in order. A step that would come before the previous one is skipped. If no rule will
 * disable the webhook, the second step comes after a day.
 */
export function dueSteps(failing: FailingWebhook, now: number): readonly LadderStep[] {
  return plannedSteps(failing).flatMap(([step, at]) => (at <= now ? [step] : []));
}

/** When the `failing` event is published, apart from messages to people: halfway to the webhook's end. */
export function failingEventAt({ failingSince, disabledAt }: FailingWebhook): number {
  return disabledAt === null ? failingSince + firstProblemMs : (failingSince + disabledAt) / 2;
}

function plannedSteps(failing: FailingWebhook): readonly (readonly [step: LadderStep, at: number])[] {
  const { failingSince, disabledAt, isStopped } = failing;
  const first = ["first_problem", failingSince + firstProblemMs] as const;
  const stopped = isStopped ? ([["disabled", 0]] as const) : [];
  if (disabledAt === null) return [first, ["half_time", failingSince + dayMs], ...stopped];
  const halfTime = failingEventAt(failing);
  const lastDay = disabledAt - dayMs;
  return [
    first,
    ...(halfTime > first[1] ? ([["half_time", halfTime]] as const) : []),
    ...(lastDay > halfTime ? ([["last_day", lastDay]] as const) : []),
    ...stopped,
  ];
}
