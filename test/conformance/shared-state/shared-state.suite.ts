import { suite, test } from "node:test";
import type { SharedState } from "../../../src/ports/shared-state.ts";
import { configNews } from "./config-news.suite.ts";
import { endpoints } from "./endpoints.suite.ts";
import { limitModel } from "./limit-model.suite.ts";
import { limits } from "./limits.suite.ts";
import { outages } from "./outages.suite.ts";
import { publishes } from "./publishes.suite.ts";

/** Every guarantee of src/ports/shared-state.ts, checked with one adapter. */
export function sharedStateConformance(subject: SharedStateSubject): void {
  runThemes(subject, [
    ["limits", limits],
    ["limits compared with the domain's rate limit", limitModel],
    ["memory of endpoints", endpoints],
    ["publishes by key", publishes],
    ["configuration news", configNews],
    ["outages", outages],
  ]);
}

/** An adapter under test. */
export interface SharedStateSubject {
  readonly name: string;
  /** A new, empty namespace. */
  open(): Promise<OpenSharedState>;
}

export interface OpenSharedState {
  readonly state: SharedState;
  /** Opens the same namespace again, as another process would. Closed by `cleanup`. */
  openAnother(): Promise<SharedState>;
  /** The clock of the shared state, in Unix milliseconds. */
  now(): Promise<number>;
  /** Waits, or advances the clock of the shared state. */
  pass(ms: number): Promise<void>;
  /** Whether the clock advances only through `pass`, so that results are exact. */
  readonly isTimeDriven: boolean;
  /** Makes the shared state unavailable to every client. */
  interrupt(): Promise<void>;
  restore(): Promise<void>;
  /** Deletes all stored data. */
  forget(): Promise<void>;
  cleanup(): Promise<void>;
}

/** One topic of the suite. Every call to `check` is a test with its own empty shared state. */
export type SharedStateTheme = (check: SharedStateCheck) => void;
export type SharedStateCheck = (
  promise: string,
  body: (state: SharedState, open: OpenSharedState) => Promise<void>,
) => void;

function runThemes(
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
