import { releaseProbe } from "../../domain/circuit-breaker.ts";
import { codeOf } from "../../domain/thrown.ts";
import { Alarm } from "../../ports/clock.ts";
import { type Shortage, shortageTexts } from "../../ports/transport.ts";
import type { EngineContext } from "../engine-options.ts";
import type { Flight, FlightListener } from "./attempts.ts";

/**
 * Handles requests that this machine could not send. Receivers are not the cause, so the delivery is released
 * unchanged, without an attempt, and is sent a little later. The log and the metrics show the problem to the operator.
 */
export class Shortages {
  readonly #context: Pick<EngineContext, "clock" | "telemetry">;
  readonly #dispatcher: () => Pick<FlightListener, "postponed" | "schedulePump">;
  #last: { readonly shortage: Shortage; readonly atMs: number } | null = null;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #untold = 0;
  readonly #pause: Alarm;

  constructor(
    context: Pick<EngineContext, "clock" | "telemetry">,
    dispatcher: () => Pick<FlightListener, "postponed" | "schedulePump">,
  ) {
    this.#context = context;
    this.#dispatcher = dispatcher;
    this.#pause = new Alarm(context.clock);
  }

  /** Sending is paused briefly, because any request would fail the same way. */
  get pausing(): boolean {
    return this.#pause.isSet;
  }

  /** The recent shortage of this machine; null if there is none. */
  get current(): Shortage | null {
    if (this.#last === null || this.#context.clock.monotonicMs() - this.#last.atMs > shownMs) return null;
    return this.#last.shortage;
  }

  /** Handles a request that could not be sent because of a shortage. */
  met(flight: Flight, shortage: Shortage): void {
    const { clock, telemetry } = this.#context;
    this.#last = { shortage, atMs: clock.monotonicMs() };
    telemetry.metrics.alarmed("local_shortage");
    this.#tell(shortage);
    // Local ports run out per receiver address, so other receivers are not affected.
    if (shortage !== "ports") this.#pauseAll();
    if (flight.probe !== null) releaseProbe(flight.endpoint.circuit, flight.probe);
    this.#dispatcher().postponed(flight, clock.now() + pauseMs);
  }

  stop(): void {
    this.#pause.close();
  }

  #pauseAll(): void {
    if (!this.#pause.isSet) this.#pause.set(pauseMs, () => this.#dispatcher().schedulePump());
  }

  #tell(shortage: Shortage): void {
    const { clock, telemetry } = this.#context;
    this.#untold += 1;
    if (clock.monotonicMs() - this.#toldAtMs < tellAgainMs) return;
    telemetry.log.error(
      { shortage, postponed: this.#untold },
      `requests could not be sent and are postponed: ${shortageTexts[shortage]}`,
    );
    this.#toldAtMs = clock.monotonicMs();
    this.#untold = 0;
  }
}

const pauseMs = 250;
const tellAgainMs = 10_000;
/** How long a shortage is reported after its last occurrence: longer than the interval of a scrape or probe. */
const shownMs = 60_000;

/**
 * Handles requests that could not be built because of a bug in this program. Each kind of error is logged once a
 * minute.
 */
export class OwnFaults {
  readonly #context: Pick<EngineContext, "clock" | "telemetry">;
  /** By kind of error: when it was last logged, and how many errors were not logged since. */
  readonly #kinds = new Map<string, { loggedAtMs: number; unlogged: number }>();

  constructor(context: Pick<EngineContext, "clock" | "telemetry">) {
    this.#context = context;
  }

  met(error: Error, fields: Readonly<Record<string, unknown>>): void {
    const { clock, telemetry } = this.#context;
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
