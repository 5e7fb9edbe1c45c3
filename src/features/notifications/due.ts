import type { DeliveryPolicy } from "../../domain/delivery-policy.ts";
import type { EndpointHealth } from "../../domain/endpoint-health.ts";
import { longestTotalMs } from "../../domain/retry-schedule.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { NotificationChannel } from "./notification.ts";

/**
 * When a webhook that keeps failing will be disabled by the rules of its profile; null if no time-based rule applies.
 * Random delays are counted with their longest values, so that the announced day is never too early.
 */
export function disablementAt(
  webhook: Pick<Webhook, "status" | "statusChangedAt">,
  health: EndpointHealth,
  policy: DeliveryPolicy,
): number | null {
  const { disable, schedule, ageMsMax } = policy;
  if (webhook.status === "suspended") return webhook.statusChangedAt + disable.suspendedToDisabledMs;
  const ends: number[] = [];
  if (health.persistentFailureSince !== null) ends.push(health.persistentFailureSince + disable.persistentMs);
  if (disable.onExhausted !== "never" && health.failingSince !== null) {
    const givenUpAfterMs = Math.min(longestTotalMs(schedule), ageMsMax);
    ends.push(health.failingSince + Math.max(givenUpAfterMs, disable.exhaustedMsMin));
  }
  return ends.length === 0 ? null : Math.min(...ends);
}

/**
 * The steps at which the owner of a failing webhook is notified: the first problem, halfway to the disabling, one day
 * before it, and the disabling itself. Times are Unix milliseconds.
 */
export type LadderStep = "first_problem" | "half_time" | "last_day" | "disabled";

export interface FailingWebhook {
  readonly failingSince: number;
  /** Null if no rule will disable the webhook. */
  readonly disabledAt: number | null;
  /** Whether the rules of its profile have disabled the webhook. */
  readonly isStopped: boolean;
}

const firstProblemMs = 15 * 60_000;
const dayMs = 86_400_000;

/**
 * The steps that are due now, in order. A step that would come before the previous one is skipped. If no rule will
 * disable the webhook, the second step comes after one day.
 */
export function dueSteps(failing: FailingWebhook, now: number): readonly LadderStep[] {
  return plannedSteps(failing).flatMap(([step, at]) => (at <= now ? [step] : []));
}

/**
 * When the `failing` event is published, independently of messages to people: halfway to the disabling of the webhook,
 * or at the first step if no rule will disable it.
 */
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

// Wall-clock time in a time zone. Instants are Unix milliseconds, times of day are minutes since midnight.

const minuteMs = 60_000;
const dayMinutes = 1_440;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Whether the runtime supports the time zone. */
export function isTimeZone(name: string): boolean {
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** The minute of the day in the zone. */
export function minuteOfDay(at: number, timeZone: string): number {
  const parts = formatOf(timeZone).formatToParts(at);
  const numberOf = (type: string): number => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return numberOf("hour") * 60 + numberOf("minute");
}

/**
 * When clocks in the zone next show this minute of the day, at or after `from`. If clocks skip this minute, the time at
 * which they would have shown it.
 */
export function nextAt(from: number, minute: number, timeZone: string): number {
  const begun = Math.ceil(from / minuteMs) * minuteMs;
  const guess = begun + forward(minute - minuteOfDay(begun, timeZone)) * minuteMs;
  // Clocks may have changed in between, by less than half a day.
  const off = forward(minuteOfDay(guess, timeZone) - minute);
  const mended = guess - (off > dayMinutes / 2 ? off - dayMinutes : off) * minuteMs;
  return mended >= from && minuteOfDay(mended, timeZone) === minute ? mended : guess;
}

function forward(minutes: number): number {
  return (minutes + 2 * dayMinutes) % dayMinutes;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en", {
      timeZone,
      hour: "numeric",
      minute: "numeric",
      hourCycle: "h23",
    });
    formats.set(timeZone, format);
  }
  return format;
}

type QuietHours = NonNullable<NotificationChannel["quietHours"]>;

/** 8:00, the default time of daily digests. */
const digestMinute = 8 * 60;

/**
 * When a message created now is sent to a channel: immediately or with the next digest, but never during quiet hours.
 */
export function dueAt(
  channel: Pick<NotificationChannel, "frequency" | "timeZone" | "quietHours">,
  now: number,
): number {
  return afterQuietHours(channel, digestAt(channel, now));
}

/** The given time, or the end of the quiet hours that contain it. */
export function afterQuietHours(
  { quietHours, timeZone }: Pick<NotificationChannel, "timeZone" | "quietHours">,
  at: number,
): number {
  if (quietHours === null || !isQuiet(quietHours, minuteOfDay(at, timeZone))) return at;
  return nextAt(at, minuteOf(quietHours.until), timeZone);
}

function digestAt(
  { frequency, timeZone }: Pick<NotificationChannel, "frequency" | "timeZone">,
  now: number,
): number {
  if (frequency === "immediate") return now;
  if (frequency === "daily") return nextAt(now, digestMinute, timeZone);
  const nextHour = (Math.floor(minuteOfDay(now, timeZone) / 60) + 1) % 24;
  return nextAt(now, nextHour * 60, timeZone);
}

/**
 * Whether a minute is within quiet hours. They may span midnight. Equal start and end would mean all day and are
 * ignored.
 */
function isQuiet(quietHours: QuietHours, minute: number): boolean {
  const [from, until] = [minuteOf(quietHours.from), minuteOf(quietHours.until)];
  if (from === until) return false;
  return from < until ? minute >= from && minute < until : minute >= from || minute < until;
}

/** The minute of the day for a time such as 22:00. */
function minuteOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return hours * 60 + minutes;
}
