import type { OutageReceiver } from "./receiver.fixture.ts";

export interface Standstills {
  /** The longest time for which no webhook received anything. */
  readonly allMs: number;
  /** The longest time for which a single webhook received nothing, and the name of that webhook. */
  readonly oneMs: number;
  readonly one: string;
}

export function standstills(
  { arrivals }: OutageReceiver,
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): Standstills {
  const times: number[] = [];
  let oneMs = 0;
  let one = "none";
  for (const [webhook, list] of arrivals) {
    const own = list.map(({ atMs }) => atMs).filter((atMs) => atMs >= fromMs && atMs <= untilMs);
    const gapMs = longestGap([fromMs, ...own, untilMs]);
    if (gapMs > oneMs) [oneMs, one] = [gapMs, webhook];
    times.push(...own);
  }
  return { allMs: longestGap([fromMs, ...times.toSorted((a, b) => a - b), untilMs]), oneMs, one };
}

function longestGap(times: readonly number[]): number {
  let longestMs = 0;
  for (let index = 1; index < times.length; index += 1)
    longestMs = Math.max(longestMs, (times[index] ?? 0) - (times[index - 1] ?? 0));
  return longestMs;
}
