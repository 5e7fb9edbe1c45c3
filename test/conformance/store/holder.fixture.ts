/** A process that holds deliveries and settles them without sending anything. Uses production code. */
import { createCircuit } from "../../../src/domain/circuit-breaker.ts";
import type { HolderEvent } from "../../../src/domain/delivery-state.ts";
import { createHealth } from "../../../src/domain/endpoint-health.ts";
import { standard } from "../../../src/domain/profiles/standard.ts";
import { Settler, type SettleOptions } from "../../../src/engine/attempt/settle.ts";
import type { Flight } from "../../../src/engine/attempt/attempts.ts";
import { ManualClock } from "../../../src/engine/manual-clock.fixture.ts";
import { CommitGroup } from "../../../src/engine/commit/commit-group.ts";
import { ProblemWatch } from "../../../src/engine/commit/problem-watch.ts";
import { OperationalEvents } from "../../../src/engine/endpoint/operational-events.ts";
import { CommitRiders, WaitingStates } from "../../../src/engine/commit/write-group.ts";
import type { Store } from "../../../src/ports/store.ts";
import type { ClaimedDelivery } from "../../../src/ports/store/deliveries.ts";
import type { Telemetry } from "../../../src/ports/telemetry.ts";
import { noResponseFields, type TransportResult } from "../../../src/ports/transport.ts";
import { hour, newId } from "./scene.fixture.ts";

/** A receiver's response, and the policy that applied when it arrived. */
export interface Answer {
  readonly status: number;
  readonly retryAfter?: string;
  readonly attemptsMax?: number;
}

type EndingOfHolder = Exclude<HolderEvent, { readonly kind: "attempted" }>;

/** Maximum age of deliveries. */
export const ageMsMax = hour;

const silent = (): void => undefined;
const telemetry = {
  log: { debug: silent, info: silent, warn: silent, error: silent },
  metrics: { alarmed: silent, attemptSettled: silent, commitWritten: silent },
} as unknown as Telemetry;

export class Holder {
  readonly #clock = new ManualClock();
  readonly #settler: Settler;
  #heard: string | null = null;

  constructor(store: Store) {
    const random = { uniform: () => 0.5, bytes: (count: number) => new Uint8Array(count) };
    const commits = new CommitGroup({
      store: store.deliveries,
      clock: this.#clock,
      random,
      telemetry,
      windowMs: 0,
      rowsMax: 100,
      riders: new CommitRiders(
        null,
        new ProblemWatch({ clock: this.#clock, telemetry }, store.problems, () => undefined),
      ),
      recovered: silent,
      waitingStates: new WaitingStates(() => [], new OperationalEvents(silent, silent)),
    });
    const heard = (word: string) => () => void (this.#heard = word);
    const dispatcher = {
      answered: silent,
      settled: heard("settled"),
      dropped: heard("settled"),
      lost: heard("lost"),
    };
    this.#settler = new Settler({
      spans: null,
      clock: this.#clock,
      random,
      telemetry,
      commits,
      nextId: newId,
      notes: null,
      dispatcher: () => dispatcher,
      states: { changed: silent, circuitMoved: silent },
      lifecycle: { decided: silent, movedPermanently: silent },
      ownerAlerts: { report: silent, exhausted: silent },
      ownFaults: { met: silent },
    } as unknown as SettleOptions);
  }

  /** Settles the response. Returns the result that the dispatcher receives in the end: `settled` or `lost`. */
  async answered(delivery: ClaimedDelivery, answer: Answer & { readonly at: number }): Promise<string> {
    const { status, retryAfter, attemptsMax = 9, at } = answer;
    const result: TransportResult = {
      observation: {
        kind: "response",
        status,
        complete: true,
        ...(retryAfter === undefined ? {} : { retryAfter }),
      },
      responseSample: null,
      fields: noResponseFields,
      errorMessage: null,
      durationMs: 1,
    };
    const flight = flightOf(delivery, { at, attemptsMax });
    return this.#run(at, () => this.#settler.attempted(flight, result));
  }

  async ended(
    delivery: ClaimedDelivery,
    end: { readonly event: EndingOfHolder; readonly at: number },
  ): Promise<string> {
    const { event, at } = end;
    const flight = flightOf(delivery, { at, attemptsMax: 9 });
    return this.#run(at, () => {
      if (event.kind === "foreign_webhook") this.#settler.stopped(flight, "foreign");
      else if (event.kind === "compose_failed")
        this.#settler.notComposed(flight, new Error("it could not be built"));
      else this.#settler.withoutAttempt(delivery, flight.lane, event);
    });
  }

  async #run(at: number, act: () => void): Promise<string> {
    this.#clock.time = at;
    this.#heard = null;
    act();
    while (this.#heard === null) await this.#clock.turn();
    return this.#heard;
  }
}

/** The fields of a flight that the settler reads. */
function flightOf(
  delivery: ClaimedDelivery,
  { at, attemptsMax }: { readonly at: number; readonly attemptsMax: number },
): Flight {
  const schedule = { kind: "list", delaysMs: [1_000], jitter: { from: 1, to: 1 } };
  const endpoint = {
    webhook: { id: delivery.webhookId, tenantId: delivery.tenantId, url: "https://a.test/", revision: 1 },
    policy: { ...standard, schedule, attemptsMax, retryDelayFloorsMs: {}, ageMsMax },
    circuit: createCircuit(at),
    health: createHealth(),
    pace: "quick",
    tokens: null,
    config: { shownSecrets: [] },
    gateLog: null,
    tenantQueue: { gateLog: null },
    pause: () => false,
    attempted: () => false,
    succeeded: silent,
    returnRate: silent,
  };
  const lane = { endpoint, settlementBegan: silent, settlementEnded: silent, ordered: false, freedAt: 0 };
  const { webhook } = endpoint;
  const flight = { delivery, endpoint, lane, startedAt: at, webhook, probe: null, accessToken: null };
  return flight as unknown as Flight;
}
