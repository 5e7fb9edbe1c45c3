/** The target of an event. One webhook subscribes to the event type, which may have a separate lane of the webhook. */
export interface Address {
  readonly tenantId: string;
  readonly eventType: string;
  /** Name of the webhook that subscribes to the type. */
  readonly webhook: string;
  /**
   * The lane in which events are ordered: that of the webhook, or that of the webhook and the event type. Null if the
   * events are unordered.
   */
  readonly orderedLane: string | null;
}

/** An event that was accepted, as recorded by the publisher. */
export interface Accepted {
  readonly eventId: string;
  readonly key: string;
  readonly sequenceNumber: number;
  readonly address: Address;
}

export interface PublisherOptions {
  /** Returns the base URLs of the APIs that are currently in use. */
  readonly targets: () => readonly string[];
  readonly key: string;
  readonly addresses: readonly Address[];
  readonly eventsPerSecond: number;
  /** Prefix of the publisher's idempotency keys. */
  readonly name: string;
}

const tickMs = 20;
const inFlightMax = 256;
const requestTimeoutMs = 30_000;
const pauseMsMin = 100;
const pauseMsMax = 1_000;

/**
 * Publishes at a steady rate, one event per request, like a careful application: each event has a key and is repeated
 * with that key until it is accepted.
 */
export class SteadyPublisher {
  readonly #options: PublisherOptions;
  /** Accepted events by idempotency key. */
  readonly accepted = new Map<string, Accepted>();
  /** Responses and errors after which an event had to be sent again, with their counts. */
  readonly setbacks = new Map<string, number>();
  /** Responses that a retry cannot fix. */
  readonly refusals: string[] = [];
  /** Number of events that the application has offered so far. */
  offered = 0;
  /** Number of offered events that were sent at least once. */
  sent = 0;
  retries = 0;
  slowestAnswerMs = 0;
  #inFlight = 0;
  #nextTarget = 0;
  #isAbandoned = false;
  readonly #waiting: number[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  start(): void {
    const startedMs = performance.now();
    const before = this.offered;
    this.#timer ??= setInterval(() => {
      const due = before + ((performance.now() - startedMs) * this.#options.eventsPerSecond) / 1_000;
      while (this.offered < due) this.#waiting.push(this.offered++);
      this.#pump();
    }, tickMs);
  }

  /** Stops offering new events. Earlier events are still published. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Abandons events that have not been accepted yet. */
  abandon(): void {
    this.stop();
    this.#waiting.length = 0;
    this.#isAbandoned = true;
  }

  /** Events that were offered but not accepted yet. */
  get outstanding(): number {
    return this.#waiting.length + this.#inFlight;
  }

  #pump(): void {
    while (this.#inFlight < inFlightMax) {
      const number = this.#waiting.shift();
      if (number === undefined) return;
      this.#inFlight += 1;
      this.sent += 1;
      void this.#publish(number).finally(() => {
        this.#inFlight -= 1;
        this.#pump();
      });
    }
  }

  async #publish(number: number): Promise<void> {
    const { addresses, name } = this.#options;
    const address = addresses[number % addresses.length];
    if (address === undefined) throw new Error("nowhere to publish to");
    const key = `${name}-${number}`;
    for (let tries = 0; ; tries += 1) {
      const setback = await this.#ask(key, { number, address });
      if (setback === null || this.#isAbandoned) return;
      this.setbacks.set(setback, (this.setbacks.get(setback) ?? 0) + 1);
      this.retries += 1;
      const pauseMs = Math.min(pauseMsMax, pauseMsMin * 2 ** tries);
      await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random() / 2)));
    }
  }

  /** Sends an event once. Returns null if the result is final, or else the reason for another attempt. */
  async #ask(
    key: string,
    event: { readonly number: number; readonly address: Address },
  ): Promise<string | null> {
    const { address, number } = event;
    const targets = this.#options.targets();
    const target = targets[this.#nextTarget++ % Math.max(1, targets.length)];
    if (target === undefined) return "no API";
    const askedMs = performance.now();
    try {
      const response = await fetch(`${target}/v1/events`, {
        method: "POST",
        headers: { authorization: `Bearer ${this.#options.key}`, "content-type": "application/json" },
        body: JSON.stringify({
          event_type: address.eventType,
          tenant_id: address.tenantId,
          idempotency_key: key,
          data: {
            number,
            note: "a hundred bytes or so, as many events have, so that bodies are not nothing",
          },
        }),
        signal: AbortSignal.timeout(requestTimeoutMs),
      });
      const answer = await response.text();
      if (response.status === 202) {
        this.#note(key, { address, answer: JSON.parse(answer) as Receipt });
        return null;
      }
      if (response.status !== 503 && response.status !== 409) {
        this.refusals.push(`${response.status} ${answer}`);
        return null;
      }
      return String(response.status);
    } catch (error) {
      return nameOf(error);
    } finally {
      this.slowestAnswerMs = Math.max(this.slowestAnswerMs, performance.now() - askedMs);
    }
  }

  #note(key: string, { address, answer }: { readonly address: Address; readonly answer: Receipt }): void {
    if (answer.deliveries !== 1) this.refusals.push(`${key} found ${answer.deliveries} webhooks`);
    this.accepted.set(key, { eventId: answer.id, key, sequenceNumber: answer.sequence_number, address });
  }
}

interface Receipt {
  readonly id: string;
  readonly sequence_number: number;
  readonly deliveries: number;
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const code = cause instanceof Error && "code" in cause ? cause.code : error.name;
  return String(code);
}
