import type { AttemptObservation, Outcome } from "../../src/domain/classify.ts";
import {
  noResponseFields,
  type OutboundRequest,
  type Transport,
  type TransportResult,
} from "../../src/ports/transport.ts";
import type { EngineRun } from "./engine-run.ts";
import type { VirtualTime } from "./fake-clock.ts";
import type { Answer, Flight } from "./invariants/flights.ts";
import { type Mood, moods, type Reaction } from "./moods.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** The receiver's record of a request. It is kept whether or not the response arrives. */
export interface Arrival {
  readonly webhookId: string;
  readonly at: number;
  readonly processed: boolean;
}

export interface ReceiverOptions {
  readonly time: VirtualTime;
  readonly random: SeededRandom;
  readonly sent: (sent: {
    readonly run: EngineRun;
    readonly webhookId: string;
    readonly request: OutboundRequest;
  }) => Flight;
  readonly answered: (flight: Flight, answer: Answer) => void;
  readonly trace: (line: string) => void;
}

interface OpenRequest {
  readonly run: EngineRun;
  /** Ends the request now, as if the connection had been aborted. */
  readonly abort: () => void;
}

/**
 * The receivers of all webhooks, and the network between them and the engine. Each webhook goes through moods that are
 * drawn from the seed. A request gets the mood in which it arrives.
 */
export class HostileReceiver {
  readonly #options: ReceiverOptions;
  readonly #moods = new Map<string, { mood: Mood; until: number }>();
  readonly #open = new Set<OpenRequest>();
  readonly arrivals: Arrival[] = [];
  readonly outcomes = new Map<string, number>();
  healed = false;

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  /** The network that one engine process uses. */
  transport(run: EngineRun): Transport {
    return {
      send: (request) => this.#send(run, request),
      openSockets: () => this.#openOf(run).length,
      close: async () => {
        for (const request of this.#openOf(run)) request.abort();
      },
    };
  }

  #openOf(run: EngineRun): OpenRequest[] {
    return [...this.#open].filter((request) => request.run === run);
  }

  #send(run: EngineRun, request: OutboundRequest): Promise<TransportResult> {
    const { time, sent, trace } = this.#options;
    if (!run.alive) return new Promise(() => undefined);
    const webhookId = request.path.slice("/hooks/".length);
    const flight = sent({ run, webhookId, request });
    const mood = this.#moodOf(webhookId);
    const reaction = moods[mood]({
      random: this.#options.random,
      now: time.now(),
      timeoutMs: request.timeoutMs,
    });
    const startedAt = time.monotonicMs();
    trace(`send ${webhookId.slice(-6)} ${flight.eventId.slice(-6)} ${mood}`);
    this.#count(mood);
    return new Promise((resolve) => {
      const finish = (observation: AttemptObservation, retryNotBefore: number | null): void => {
        if (!this.#open.delete(open) || !run.alive) return;
        timer.cancel();
        this.#options.answered(flight, { observation, means: meaningOf(observation), retryNotBefore });
        trace(`answer ${webhookId.slice(-6)} ${describe(observation)}`);
        resolve(resultOf(observation, time.monotonicMs() - startedAt));
      };
      const open: OpenRequest = { run, abort: () => finish(aborted, null) };
      this.#open.add(open);
      this.#arrive(flight, reaction);
      const delayMs = Math.min(reaction.afterMs, request.timeoutMs);
      const timer = time.after(delayMs, () => {
        if (reaction.afterMs > request.timeoutMs) finish(timedOut, null);
        else finish(reaction.answer(time.now()), reaction.retryNotBefore(time.now()));
      });
    });
  }

  /** The request reaches the receiver unless the connection failed. */
  #arrive(flight: Flight, reaction: Reaction): void {
    if (!reaction.arrives) return;
    const { time } = this.#options;
    this.arrivals.push({ webhookId: flight.webhookId, at: time.now(), processed: reaction.processes });
  }

  #moodOf(webhookId: string): Mood {
    if (this.healed) return "healthy";
    const { time, random } = this.#options;
    let current = this.#moods.get(webhookId);
    if (current === undefined || current.until <= time.monotonicMs()) {
      const mood = random.weighted(moodWeights);
      current = { mood, until: time.monotonicMs() + random.int(moodMs(mood)) };
      this.#moods.set(webhookId, current);
    }
    return current.mood;
  }

  #count(mood: Mood): void {
    this.outcomes.set(mood, (this.outcomes.get(mood) ?? 0) + 1);
  }
}

const moodWeights: Readonly<Record<Mood, number>> = {
  healthy: 30,
  flaky: 16,
  slow: 8,
  down: 10,
  throttled: 10,
  overloaded: 6,
  gone: 1,
  missing: 4,
  picky: 8,
  hanging: 5,
  resetting: 6,
  redirecting: 2,
  truncating: 3,
  strange: 3,
};

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Bad moods last from minutes to days. A mood with 404 lasts long enough to be detected. */
function moodMs(mood: Mood): { readonly min: number; readonly max: number } {
  if (mood === "missing") return { min: minuteMs, max: 30 * hourMs };
  if (mood === "down" || mood === "hanging") return { min: minuteMs, max: 8 * hourMs };
  return { min: minuteMs, max: 2 * hourMs };
}

const aborted: AttemptObservation = { kind: "failure", category: "network", requestSent: true };
const timedOut: AttemptObservation = { kind: "failure", category: "timeout", requestSent: true };

const terminalStatuses = [400, 410, 413, 414, 415, 422, 431, 451];

/** An independent copy of the published meaning of a response in the profile `standard`. */
function meaningOf(observation: AttemptObservation): Outcome {
  if (observation.kind === "failure" || !observation.complete) return "transient";
  if (observation.status >= 200 && observation.status < 300)
    return observation.status === 207 ? "transient" : "accepted";
  return terminalStatuses.includes(observation.status) ? "terminal" : "transient";
}

function describe(observation: AttemptObservation): string {
  return observation.kind === "failure" ? observation.category : `${observation.status}`;
}

function resultOf(observation: AttemptObservation, durationMs: number): TransportResult {
  const isRedirect = observation.kind === "response" && observation.status >= 300 && observation.status < 400;
  return {
    observation,
    durationMs,
    responseSample: observation.kind === "response" ? Buffer.from("sample") : null,
    fields: isRedirect ? { location: "https://elsewhere.example/" } : noResponseFields,
    errorMessage: observation.kind === "failure" ? observation.category : null,
  };
}
