import { suite, test } from "node:test";
import type { Store } from "../../../src/ports/store.ts";

/** An adapter under test. */
export interface StoreSubject {
  readonly name: string;
  /** A new, empty store. */
  open(): Promise<OpenStore>;
}

export interface OpenStore {
  readonly store: Store;
  /** Closes the store and opens the same data again, as a new process would. */
  reopen(): Promise<Store>;
  cleanup(): Promise<void>;
}

/** One theme of the suite: every call of `check` is a test with an empty store of its own. */
export type StoreTheme = (check: StoreCheck) => void;
export type StoreCheck = (promise: string, body: (store: Store, open: OpenStore) => Promise<void>) => void;

export function runThemes(
  subject: StoreSubject,
  themes: readonly (readonly [name: string, theme: StoreTheme])[],
): void {
  suite(`store conformance: ${subject.name}`, () => {
    for (const [name, theme] of themes) {
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
