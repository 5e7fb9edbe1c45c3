import { suite, test } from "node:test";
import type { Store } from "../../../src/ports/store.ts";

/** An adapter under test. */
export interface StoreSubject {
  readonly name: string;
  /** Why two openings of the same data cannot work at the same time; null if they can. */
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

/** One topic of the suite: every call of `check` is a test with its own empty store. */
export type StoreTheme = (check: StoreCheck) => void;
export type StoreCheck = (promise: string, body: (store: Store, open: OpenStore) => Promise<void>) => void;

/** Topics marked `shared` are about several processes; an adapter with a single owner declares why it lacks them. */
export type ThemeEntry = readonly [name: string, theme: StoreTheme, needs?: "shared"];

export function runThemes(subject: StoreSubject, themes: readonly ThemeEntry[]): void {
  suite(`store conformance: ${subject.name}`, () => {
    for (const [name, theme, needs] of themes) {
      const { cannotShare } = subject;
      if (needs === "shared" && cannotShare !== null) {
        // One line for the topic, because every promise would give the same reason.
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
