import { suite, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { WorkQueue } from "../../../src/ports/work-queue.ts";
import { closing } from "./closing.suite.ts";
import { connection } from "./connection.suite.ts";
import { depth } from "./depth.suite.ts";
import { handingOver } from "./handing-over.suite.ts";
import { handedOutTooOften, unreadable } from "./parking.suite.ts";
import { passingOn } from "./passing-on.suite.ts";
import { prioritiesTheme } from "./priorities.suite.ts";
import { notifying } from "./notifying.suite.ts";

/** Every guarantee of src/ports/work-queue.ts, checked with one adapter. */
export function queueConformance(subject: QueueSubject): void {
  runThemes(subject, [
    ["handing over", handingOver],
    ["priorities", prioritiesTheme],
    ["passing on", passingOn],
    ["notifying a worker", notifying],
    ["connection", connection],
    ["depth", depth],
    ["closing", closing],
    ["hints that were handed out too often", handedOutTooOften],
    ["unreadable messages", unreadable, "unreadable"],
  ]);
}

/** An adapter under test. */
export interface QueueSubject {
  readonly name: string;
  /** Unsupported guarantees, each with the reason. */
  readonly lacks: Readonly<Partial<Record<QueueCapability, string>>>;
  /** A new, empty broker. */
  open(): Promise<OpenBroker>;
}

/** `unreadable`: the test can put a message that is not a hint into a queue. */
export type QueueCapability = "unreadable";

export interface OpenBroker {
  /** Opens the queue as another process that uses the broker. Closed by `cleanup`. */
  join(): Promise<WorkQueue>;
  /** Disconnects one process until `mend` is called. */
  cut(queue: WorkQueue): void;
  mend(queue: WorkQueue): void;
  /** Deletes all queues and their contents; connections stay open. */
  lose(): Promise<void>;
  /** Puts bytes that are not a hint into the queue of a pool. */
  readonly putUnreadable?: (pool: string) => Promise<void>;
  cleanup(): Promise<void>;
}

/** One topic of the suite. Every call to `check` is a test with its own broker. */
export type QueueTheme = (check: QueueCheck) => void;
export type QueueCheck = (promise: string, body: (broker: OpenBroker) => Promise<void>) => void;

const cleanupMsMax = 10_000;

export type ThemeEntry = readonly [name: string, theme: QueueTheme, needs?: QueueCapability];

function runThemes(subject: QueueSubject, themes: readonly ThemeEntry[]): void {
  suite(`work queue conformance: ${subject.name}`, () => {
    for (const [name, theme, needs] of themes) {
      const reason = needs === undefined ? undefined : subject.lacks[needs];
      if (reason !== undefined) {
        // Skips the topic with one line, because every check would give the same reason.
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
              // If a failed test left a handler pending, cleanup must not wait for it and hide the failure.
              await Promise.race([broker.cleanup(), delay(cleanupMsMax, undefined, { ref: false })]);
            }
          });
        }),
      );
    }
  });
}
