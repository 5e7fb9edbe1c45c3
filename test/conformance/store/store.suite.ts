import { suite, test } from "node:test";
import type { Store } from "../../../src/ports/store.ts";
import { alerts } from "./alerts.suite.ts";
import { audit } from "./audit.suite.ts";
import { claims } from "./claims.suite.ts";
import { counters } from "./counters.suite.ts";
import { deadLetters } from "./dead-letters.suite.ts";
import { documentEdges } from "./document-edges.suite.ts";
import { durability } from "./durability.suite.ts";
import { handEndings } from "./hand-endings.suite.ts";
import { history } from "./history.suite.ts";
import { idempotency } from "./idempotency.suite.ts";
import { lateAnswers } from "./late-answers.suite.ts";
import { leases } from "./leases.suite.ts";
import { model } from "./model.suite.ts";
import { notifications } from "./notification-queue.suite.ts";
import { operations } from "./operations.suite.ts";
import { orderedLanes } from "./ordered-lanes.suite.ts";
import { deliveryProblems } from "./delivery-problems.suite.ts";
import { ownership } from "./ownership.suite.ts";
import { workerPools } from "./worker-pools.suite.ts";
import { gateway } from "./gateway.suite.ts";
import { portal } from "./portal.suite.ts";
import { publishing } from "./publishing.suite.ts";
import { registry } from "./registry.suite.ts";
import { requeues } from "./requeues.suite.ts";
import { retries } from "./retries.suite.ts";
import { retention } from "./retention.suite.ts";
import { stateMachine } from "./state-machine.suite.ts";
import { sharing } from "./sharing.suite.ts";
import { settlements } from "./settlements.suite.ts";
import { statistics } from "./statistics.suite.ts";
import { statisticsOfEnds } from "./statistics-of-ends.suite.ts";
import { searches } from "./searches.suite.ts";
import { sourceSearches } from "./source-searches.suite.ts";
import { expiry } from "./expiry.suite.ts";
import { largeEvents } from "./large-events.suite.ts";
import { futureTimes } from "./future-times.suite.ts";
import { webhookHistories } from "./webhook-history.suite.ts";
import { webhooks } from "./webhooks.suite.ts";

/** Every guarantee of src/ports/store.ts, checked with one adapter; `without` omits topics. */
export function storeConformance(
  subject: StoreSubject,
  { without = [] }: { readonly without?: readonly string[] } = {},
): void {
  const themes: readonly ThemeEntry[] = [
    ["publish and deduplication", publishing],
    ["claims", claims],
    ["ordered lanes", orderedLanes],
    ["leases and their tokens", leases],
    ["settlements", settlements],
    ["late settlements", lateAnswers],
    ["state machine", stateMachine],
    ["requeues", requeues],
    ["manual retries", retries],
    ["endings by hand", handEndings],
    ["counters", counters],
    ["history", history],
    ["searches", searches],
    ["searches by source", sourceSearches],
    ["dead letters", deadLetters],
    ["webhooks and secrets", webhooks],
    ["history of webhooks", webhookHistories],
    ["registry", registry],
    ["idempotency", idempotency],
    ["operations", operations],
    ["audit log", audit],
    ["notifications", notifications],
    ["alerts", alerts],
    ["portal", portal],
    ["gateway", gateway],
    ["documents at the edges", documentEdges],
    ["expiry and cancellation", expiry],
    ["large events", largeEvents],
    ["times from a clock that was ahead", futureTimes],
    ["retention", retention],
    ["statistics", statistics],
    ["statistics of ends", statisticsOfEnds],
    ["problems", deliveryProblems],
    ["durability", durability],
    ["model", model],
    ["several processes", sharing, "shared"],
    ["ownership of webhooks", ownership, "shared"],
    ["pools of workers", workerPools, "shared"],
  ];
  runThemes(
    subject,
    themes.filter(([name]) => !without.includes(name)),
  );
}

/** An adapter under test. */
export interface StoreSubject {
  readonly name: string;
  /** Why the same data cannot be opened twice at the same time; null if it can. */
  readonly cannotShare: string | null;
  /** A new, empty store. */
  open(): Promise<OpenStore>;
}

export interface OpenStore {
  readonly store: Store;
  /** Closes the store and opens the same data again, as a new process would. */
  reopen(): Promise<Store>;
  /** Opens the same data again, as another process would. Closed by `cleanup`. */
  readonly openAnother?: () => Promise<Store>;
  cleanup(): Promise<void>;
}

/** One topic of the suite. Every call to `check` is a test with its own empty store. */
export type StoreTheme = (check: StoreCheck) => void;
export type StoreCheck = (promise: string, body: (store: Store, open: OpenStore) => Promise<void>) => void;

/**
 * Topics marked `shared` concern several processes. An adapter with a single owner states why it does not support them.
 */
export type ThemeEntry = readonly [name: string, theme: StoreTheme, needs?: "shared"];

export function runThemes(subject: StoreSubject, themes: readonly ThemeEntry[]): void {
  suite(`store conformance: ${subject.name}`, () => {
    for (const [name, theme, needs] of themes) {
      const { cannotShare } = subject;
      if (needs === "shared" && cannotShare !== null) {
        // Skips the topic with one line, because every check would give the same reason.
        test(`${name}: all checks of the topic`, (t) => t.skip(cannotShare));
        continue;
      }
      suite(name, () =>
        theme((promise, body) => {
          test(promise, async () => {
            const open = await subject.open();
            try {
              await body(open.store, open);
            } finally {
              await open.cleanup();
            }
          });
        }),
      );
    }
  });
}
