import { codeOf } from "../../core/thrown.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

/** Requests that could not be built because of a bug in this program. Each kind is logged once a minute. */
export class OwnFaults {
  readonly #options: { readonly clock: Clock; readonly telemetry: Telemetry };
  /** By kind of error: when it was last logged, and the number of occurrences since. */
  readonly #kinds = new Map<string, { loggedAtMs: number; unlogged: number }>();

  constructor(options: { readonly clock: Clock; readonly telemetry: Telemetry }) {
    this.#options = options;
  }

  met(error: Error, fields: Readonly<Record<string, unknown>>): void {
    const { clock, telemetry } = this.#options;
    telemetry.metrics.alarmed("unexpected_error");
    const kind = `${error.name} ${codeOf(error) ?? ""} ${placeOf(error)}`;
    const known = this.#kinds.get(kind);
    if (known !== undefined && clock.monotonicMs() - known.loggedAtMs < logAgainMs) {
      known.unlogged += 1;
      return;
    }
    if (this.#kinds.size >= kindsMax) this.#kinds.clear();
    this.#kinds.set(kind, { loggedAtMs: clock.monotonicMs(), unlogged: 0 });
    telemetry.log.error(
      {
        err: String(error).slice(0, textLengthMax),
        at: placeOf(error),
        ...fields,
        more: known?.unlogged ?? 0,
      },
      "a request could not be built; this is a fault in Posthorn, not at the receiver",
    );
  }
}

/** Where the error was thrown. */
function placeOf({ stack = "" }: Error): string {
  return /\n\s+at ([^\n]*)/.exec(stack)?.[1] ?? "";
}

const logAgainMs = 60_000;
const kindsMax = 100;
const textLengthMax = 300;
