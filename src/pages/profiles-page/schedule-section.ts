import type { Profile, RetrySchedule } from "../../core/profile.ts";
import { clockText, durationText, markdownTable } from "./markdown.ts";

/** When requests are made, and their timeouts. */
export function scheduleSection(profile: Profile): string {
  const { schedule } = profile;
  const delaysMs = nominalDelaysMs(schedule);
  const shownMs = delaysMs.slice(0, rowsMax);
  let elapsedMs = 0;
  const rows = shownMs.map((delayMs, index) => {
    elapsedMs += delayMs;
    return [String(index + 2), durationText(delayMs), clockText(elapsedMs)];
  });
  const table = markdownTable(
    ["Attempt", "Delay", "Since the first"],
    [["1", "immediately", "00:00:00"], ...rows],
  );
  const more =
    delaysMs.length > shownMs.length
      ? [
          `Further attempts follow every ${durationText(delaysMs.at(-1) ?? 0)}, up to ${delaysMs.length + 1} in total.`,
        ]
      : [];
  return ["### Schedule", table, ...more, boundLines(profile)].join("\n\n");
}

/** Enough rows to show when a schedule reaches its largest delay. */
const rowsMax = 12;

/** Without jitter and minimum delays. */
function nominalDelaysMs(schedule: RetrySchedule): readonly number[] {
  if (schedule.kind === "list") return schedule.delaysMs;
  const { attemptsMax, baseDelayMs, multiplier, delayMsMax } = schedule;
  return Array.from({ length: attemptsMax - 1 }, (_, index) =>
    Math.min(baseDelayMs * multiplier ** index, delayMsMax),
  );
}

function boundLines(profile: Profile): string {
  const { jitter } = profile.schedule;
  const lines = [
    `Each delay is multiplied by a random number from ${jitter.from} to ${jitter.to}.`,
    ...Object.entries(profile.retryDelayFloorsMs).map(
      ([category, delayMs]) =>
        `After a failure of the category \`${category}\` the delay is at least ${durationText(delayMs)}.`,
    ),
    `A delivery older than ${durationText(profile.ageMsMax)} is dead-lettered as \`expired\`.`,
    timeoutLine(profile),
  ];
  return lines.map((line) => `- ${line}`).join("\n");
}

function timeoutLine({ timeoutMs, timeoutGrowthFactor }: Profile): string {
  const each = `A request may take ${durationText(timeoutMs)}, including the connection`;
  if (timeoutGrowthFactor === 1) return `${each}.`;
  return `${each}; each further one ${timeoutGrowthFactor} times as long, up to three times the first.`;
}
