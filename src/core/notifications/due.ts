import { minuteOfDay, nextAt } from "./local-time.ts";
import type { NotificationChannel, QuietHours } from "./notification.ts";

/** 8:00, for channels that get a daily digest. */
const digestMinute = 8 * 60;

/** When a message created now goes to a channel: at once or with the next digest, and never during quiet hours. */
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
  return nextAt(at, quietHours.until, timeZone);
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

/** Quiet hours may span midnight. Equal start and end would mean all day and are ignored. */
function isQuiet({ from, until }: QuietHours, minute: number): boolean {
  if (from === until) return false;
  return from < until ? minute >= from && minute < until : minute >= from || minute < until;
}
