/** Number of random bytes in a writer's number, which make the number unique among processes. */
export const writerBytes = 6;

/** The number that identifies the writer of statistics rows, in a range that both stores support. */
export function writerOf(bytes: Uint8Array): number {
  return bytes.reduce((number, byte) => number * 256 + byte, 1);
}

// Gauges of processes: how many deliveries are waiting or in flight, and how late they are. They describe the current
// moment and are not counts.

/** Every process reads these values from the store, so those of any single process are sufficient. */
const storeGauges = ["waiting_high", "waiting_normal", "waiting_low", "dead_letters"] as const;
/** Each process has its own part, so the values of processes that run at the same time are added. */
const addedGauges = [
  "in_flight",
  "active_requests",
  "request_slots",
  "waiting_requests",
  "waiting_request_slots",
] as const;
/** Each process has its own value; together, the values have a minimum, a maximum and a mean. */
const ownGauges = [
  "open_circuits",
  "loop_lag_ms",
  "commit_ms",
  "oldest_due_ms",
  "upkeep_lag_ms",
  "disk_used",
] as const;

export const gaugeNames = [...storeGauges, ...addedGauges, ...ownGauges] as const;
export type GaugeName = (typeof gaugeNames)[number];

/** The gauges of one process at one time; null if unknown. */
export type GaugeReading = Readonly<Record<GaugeName, number | null>>;

export interface GaugeSummary {
  readonly min: number;
  readonly mean: number;
  readonly max: number;
}

interface Summed {
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  readonly count: number;
}

/** Gauges of one process over a period in Unix milliseconds. Stored as JSON. */
export interface GaugeSpan {
  readonly from: number;
  readonly to: number;
  readonly readings: Readonly<Partial<Record<GaugeName, Summed>>>;
}

export function spanOf(reading: GaugeReading, at: number): GaugeSpan {
  const known = gaugeNames.flatMap((name) => {
    const value = reading[name];
    return value === null ? [] : [[name, { min: value, max: value, sum: value, count: 1 }] as const];
  });
  return { from: at, to: at, readings: Object.fromEntries(known) };
}

/** Joins two spans of the same process. */
export function joinedSpans(one: GaugeSpan, other: GaugeSpan): GaugeSpan {
  const names = gaugeNames.filter((name) => (one.readings[name] ?? other.readings[name]) !== undefined);
  return {
    from: Math.min(one.from, other.from),
    to: Math.max(one.to, other.to),
    readings: Object.fromEntries(
      names.map((name) => [name, joined([one.readings[name], other.readings[name]])]),
    ),
  };
}

/**
 * Summarises several processes, or a process that was restarted, from one span for each run. Null if no span has a
 * value.
 */
export function summaryOf(name: GaugeName, spans: readonly GaugeSpan[]): GaugeSummary | null {
  const knowing = spans.filter(({ readings }) => readings[name] !== undefined);
  if (knowing.length === 0) return null;
  const isAdded = (addedGauges as readonly string[]).includes(name);
  if (isAdded) return addedSummary(name, knowing);
  const { min, max, sum, count } = joined(knowing.map(({ readings }) => readings[name]));
  return { min, mean: sum / count, max };
}

/**
 * Sums over the processes that ran at the same time; a restarted process counts once. The minimum and the maximum are
 * sums over the processes too, as if they had occurred at the same time.
 */
function addedSummary(name: GaugeName, spans: readonly GaugeSpan[]): GaugeSummary {
  const atOnce = spans.map(({ from: at }) => {
    const running = spans.filter(({ from, to }) => from <= at && at <= to);
    return {
      least: running.reduce((sum, { readings }) => sum + (readings[name]?.min ?? 0), 0),
      most: running.reduce((sum, { readings }) => sum + (readings[name]?.max ?? 0), 0),
    };
  });
  const weighted = spans.reduce((sum, span) => sum + meanOf(span, name) * lengthOf(span), 0);
  return {
    min: Math.min(...atOnce.map(({ least }) => least)),
    mean: weighted / coveredLength(spans),
    max: Math.max(...atOnce.map(({ most }) => most)),
  };
}

function meanOf({ readings }: GaugeSpan, name: GaugeName): number {
  const { sum, count } = readings[name] ?? { sum: 0, count: 1 };
  return sum / count;
}

/** Adds 1 ms, because a span with a single reading would otherwise have no length and would not count. */
function lengthOf({ from, to }: Pick<GaugeSpan, "from" | "to">): number {
  return to - from + 1;
}

/** Total time during which at least one of the processes ran. */
function coveredLength(spans: readonly GaugeSpan[]): number {
  let length = 0;
  let until = Number.NEGATIVE_INFINITY;
  for (const { from, to } of spans.toSorted((one, other) => one.from - other.from)) {
    if (to <= until) continue;
    length += lengthOf({ from: Math.max(from, until + 1), to });
    until = to;
  }
  return length;
}

function joined(all: readonly (Summed | undefined)[]): Summed {
  const known = all.filter((each) => each !== undefined);
  return {
    min: Math.min(...known.map(({ min }) => min)),
    max: Math.max(...known.map(({ max }) => max)),
    sum: known.reduce((total, { sum }) => total + sum, 0),
    count: known.reduce((total, { count }) => total + count, 0),
  };
}
