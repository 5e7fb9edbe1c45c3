import type { Invocation } from "./invocation.ts";

const signals = ["SIGINT", "SIGTERM"] as const;
/** Exit status after a signal by shell convention: 128 plus its number. */
const statusOf: Readonly<Record<(typeof signals)[number], number>> = { SIGINT: 130, SIGTERM: 143 };

/** Resolves at the first signal. A second signal exits immediately. */
export function untilStopped(invocation: Invocation): Promise<string> {
  return new Promise((resolve) => {
    let isFirst = true;
    const receive = (signal: (typeof signals)[number]): void => {
      if (!isFirst) invocation.exit(statusOf[signal]);
      isFirst = false;
      resolve(signal);
    };
    for (const signal of signals) process.on(signal, receive);
  });
}
