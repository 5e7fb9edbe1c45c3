import { suite, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { WorkQueue } from "../../../src/ports/work-queue.ts";

/** An adapter under test. */
export interface QueueSubject {
  readonly name: string;
  /** What it cannot do, each with the reason. */
  readonly lacks: Readonly<Partial<Record<QueueCapability, string>>>;
  /** A new, empty broker. */
  open(): Promise<OpenBroker>;
}

/** `unreadable`: somebody can put something into a queue that is no hint. */
export type QueueCapability = "unreadable";

export interface OpenBroker {
  /** One more process at the broker. Closed by `cleanup`. */
  join(): Promise<WorkQueue>;
  /** Cuts the connection of one process. It stays away until `mend`. */
  cut(queue: WorkQueue): void;
  mend(queue: WorkQueue): void;
  /** All queues and what waits in them are gone; connections live. */
  lose(): Promise<void>;
  /** Puts bytes into the queue of a pool that are no hint. */
  readonly putUnreadable?: (pool: string) => Promise<void>;
  cleanup(): Promise<void>;
}

/** One theme of the suite: every call of `check` is a test with a broker of its own. */
export type QueueTheme = (check: QueueCheck) => void;
export type QueueCheck = (promise: string, body: (broker: OpenBroker) => Promise<void>) => void;

const cleanupMsMax = 10_000;

export type ThemeEntry = readonly [name: string, theme: QueueTheme, needs?: QueueCapability];

export function runThemes(subject: QueueSubject, themes: readonly ThemeEntry[]): void {
  suite(`work queue conformance: ${subject.name}`, () => {
    for (const [name, theme, needs] of themes) {
      const reason = needs === undefined ? undefined : subject.lacks[needs];
      if (reason !== undefined) {
        // One line for the theme, in which every promise would give the same reason.
        test(`${name}: all checks of the topic`, (t) => t.skip(reason));
        continue;
      }
      suite(name, () =>
        theme((promise, body) => {
          test(promise, async () => {
            const broker = await subject.open();
            try {
              await body(broker);
            } finally {
              // A handler that a failed test left hanging must not hide why it failed.
              await Promise.race([broker.cleanup(), delay(cleanupMsMax, undefined, { ref: false })]);
            }
          });
        }),
      );
    }
  });
}
