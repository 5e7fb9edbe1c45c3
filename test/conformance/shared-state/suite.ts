import { suite, test } from "node:test";
import type { SharedState } from "../../../src/ports/shared-state.ts";

/** An adapter under test. */
export interface SharedStateSubject {
  readonly name: string;
  /** Something empty that nobody else uses. */
  open(): Promise<OpenSharedState>;
}

export interface OpenSharedState {
  readonly state: SharedState;
  /** Opens the same once more, as another process would. Closed by `cleanup`. */
  openAnother(): Promise<SharedState>;
  /** What the shared state takes for the time, Unix ms. */
  now(): Promise<number>;
  /** Lets time pass there. */
  pass(ms: number): Promise<void>;
  /** Whether time passes through `pass` alone, so that results can be told exactly. */
  readonly isTimeDriven: boolean;
  /** Takes the shared state away from everybody. */
  interrupt(): Promise<void>;
  restore(): Promise<void>;
  /** Everything that was stored is gone. */
  forget(): Promise<void>;
  cleanup(): Promise<void>;
}

/** One theme of the suite: every call of `check` is a test with an empty shared state of its own. */
export type SharedStateTheme = (check: SharedStateCheck) => void;
export type SharedStateCheck = (
  promise: string,
  body: (state: SharedState, open: OpenSharedState) => Promise<void>,
) => void;

export function runThemes(
  subject: SharedStateSubject,
  themes: readonly (readonly [name: string, theme: SharedStateTheme])[],
): void {
  suite(`shared state conformance: ${subject.name}`, () => {
    for (const [name, theme] of themes) {
      suite(name, () =>
        theme((promise, body) => {
          test(promise, async () => {
            const open = await subject.open();
            try {
              await body(open.state, open);
            } finally {
              await open.cleanup();
            }
          });
        }),
      );
    }
  });
}
