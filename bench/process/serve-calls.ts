import { Session } from "node:inspector/promises";
import { writeFileSync } from "node:fs";

export interface Call {
  readonly id: number;
  readonly method: string;
  readonly input: unknown;
}

export interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

export interface Usage {
  readonly cpuMs: number;
  /** The part of `cpuMs` that the main thread used. */
  readonly mainCpuMs: number;
  readonly rssBytes: number;
  /** Peak value of `rssBytes`. */
  readonly rssBytesMax: number;
}

type Handler = (...input: never[]) => unknown;
/** The calls that a process serves, by name. */
export type Calls = Readonly<Record<string, Handler>>;

/**
 * The child-process side of `Child`: answers the harness's calls until it disconnects. Returns the handlers so that
 * callers can export their type.
 */
export function serveCalls<Own extends Calls>(handlers: Own): Own {
  const all: Calls = { usage, startProfile, stopProfile, ...handlers };
  process.on("message", (message) => void answer(all, message as Call));
  // The harness has exited, perhaps because of Ctrl-C, so this process exits immediately.
  process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
  return handlers;
}

async function answer(handlers: Calls, call: Call): Promise<void> {
  try {
    const handler = handlers[call.method];
    if (handler === undefined) throw new Error(`no handler for ${call.method}`);
    send({ id: call.id, result: await handler(call.input as never) });
  } catch (error) {
    send({ id: call.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

function send(message: Answer): void {
  process.send?.(message);
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  const main = process.threadCpuUsage();
  return {
    cpuMs: (user + system) / 1000,
    mainCpuMs: (main.user + main.system) / 1000,
    rssBytes: process.memoryUsage.rss(),
    rssBytesMax: process.resourceUsage().maxRSS * 1024,
  };
}

/** Milliseconds of the machine's monotonic clock, which is the same in every process of a machine. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The start times of an open loop with this rate, in milliseconds after the start of the loop. */
export function timesOf(perSecond: number, durationMs: number): readonly number[] {
  return Array.from(
    { length: Math.floor((perSecond * durationMs) / 1000) },
    (_, n) => (n * 1000) / perSecond,
  );
}

/** Runs an open loop: starts each piece of work at its scheduled time, even if earlier ones have not ended. */
export async function atTimes<Result>(
  timesMs: readonly number[],
  start: (index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const startedAt = machineMs();
  const running: Promise<Result>[] = [];
  for (const [index, timeMs] of timesMs.entries()) {
    const waitMs = startedAt + timeMs - machineMs();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    running.push(start(index));
  }
  return Promise.all(running);
}

// The profile for --profile. Uses the profiler of --cpu-prof, but covers only the measured interval, without module
// loading, seeding and warm-up.

let session: Session | null = null;

async function startProfile(): Promise<void> {
  session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: samplingIntervalUs });
  await session.post("Profiler.start");
}

async function stopProfile(input: { readonly file: string }): Promise<void> {
  if (session === null) return;
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  session = null;
  writeFileSync(input.file, JSON.stringify(profile));
}

const samplingIntervalUs = 200;
