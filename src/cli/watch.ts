import { setTimeout as sleep } from "node:timers/promises";
import { UsageError } from "./failures.ts";
import type { ClientCall } from "./client-command.ts";
import { untilStopped } from "./stop-signal.ts";

const secondsDefault = 2;
const secondsMin = 0.2;

/** Repeats a command until stopped. */
export async function watch(call: ClientCall, run: (call: ClientCall) => Promise<void>): Promise<void> {
  const { options, terminal, invocation } = call;
  const seconds = options.flag("watch") ? secondsDefault : (options.number("watch") ?? secondsDefault);
  if (seconds < secondsMin)
    throw new UsageError(`--watch takes ${secondsMin} seconds or more, not ${seconds}`);
  const stop = new AbortController();
  void untilStopped(invocation).then(() => stop.abort());
  while (!stop.signal.aborted) {
    if (!terminal.json) terminal.clear();
    await run(call);
    await sleep(seconds * 1_000, undefined, { signal: stop.signal }).catch(() => undefined);
  }
}
