/** Positions and labels of axis ticks. */

/** Round numbers from 0 to at least `highest`, in three to five steps. */
export function valueTicks(highest: number): readonly number[] {
  const rough = Math.max(highest, Number.MIN_VALUE) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    (highest <= 0 ? 1 : ([1, 2, 2.5, 5, 10].find((unit) => unit * power >= rough) ?? 10) * power) || 1;
  const count = Math.max(1, Math.ceil(highest / step - 1e-9));
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/** Unix milliseconds. */
interface Span {
  readonly from: number;
  readonly to: number;
}

interface TimeTick {
  readonly at: number;
  readonly label: string;
}

const minutes = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720];
const days = [1, 2, 7, 14, 30, 90, 180];

/** Up to `countMax` round times in the local zone. Midnight is labelled with the date. */
export function timeTicks({ from, to }: Span, countMax: number): readonly TimeTick[] {
  const spanMinutes = (to - from) / 60_000;
  const stepMinutes = minutes.find((step) => spanMinutes / step <= countMax);
  const stepDays =
    stepMinutes === undefined ? (days.find((step) => spanMinutes / 1_440 / step <= countMax) ?? 365) : null;
  const ticks: TimeTick[] = [];
  for (let index = 0; ; index += 1) {
    const day = new Date(from);
    day.setHours(0, 0, 0, 0);
    if (stepDays === null) day.setMinutes(index * (stepMinutes ?? 1));
    else day.setDate(day.getDate() + index * stepDays);
    const at = day.getTime();
    if (at > to || index > 5_000) return ticks;
    // A clock change can produce the same instant twice.
    if (at >= from && at !== ticks.at(-1)?.at) ticks.push({ at, label: timeLabel(day) });
  }
}

function timeLabel(time: Date): string {
  return time.getHours() === 0 && time.getMinutes() === 0
    ? time.toLocaleDateString(undefined, { day: "numeric", month: "short" })
    : time.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** `1.2K`, `18M`: short form for axes. */
export function compactNumber(value: number): string {
  return compact.format(value);
}

/** `22 Nov 11:02 – 11:03`, in the local zone. */
export function spanText({ from, to }: Span): string {
  const isDay = to - from >= 82_800_000;
  const date = (time: number) =>
    new Date(time).toLocaleDateString(undefined, { day: "numeric", month: "short" });
  const clock = (time: number) =>
    new Date(time).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  if (isDay) return to - from <= 90_000_000 ? date(from) : `${date(from)} – ${date(to - 1)}`;
  return `${date(from)} ${clock(from)} – ${date(from) === date(to) ? "" : `${date(to)} `}${clock(to)}`;
}

/** Time zone of the browser. */
export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
