import type { Worker } from "node:worker_threads";
import { codeOf } from "../../../core/thrown.ts";
import type { Clock, Timer } from "../../../ports/clock.ts";
import { noResponseFields } from "../../../ports/transport.ts";
import type { OutboundRequest, Shortage, TransportResult } from "../../../ports/transport.ts";
import { shortageOf } from "../http/failures.ts";
import { RequestBatchWriter } from "./request-batch.ts";
import { readResults } from "./result-batch.ts";
import type { FromSender, SenderData, ToSender } from "./sender-messages.ts";

/** What is needed of a `Worker`. */
export interface SenderWorker extends Pick<Worker, "postMessage" | "unref" | "terminate"> {
  on(event: "message", listener: (message: FromSender) => void): unknown;
  on(event: "error", listener: (error: unknown) => void): unknown;
  on(event: "exit", listener: () => void): unknown;
}
/** Starts a thread whose module calls `serveSender`. May throw. */
export type StartSender = (data: SenderData) => SenderWorker;

export interface SenderThreadParts extends SenderData {
  readonly start: StartSender;
  readonly clock: Clock;
  readonly onLost: (lost: LostSender) => void;
}

/** A thread that ended although nobody asked it to. */
export interface LostSender {
  /** A code or the name of an error; never its message, which may hold what was being sent. */
  readonly cause: string;
  /** Requests of which it is not known how far they came. */
  readonly inFlight: number;
}

interface Flight {
  readonly resolve: (result: TransportResult) => void;
  readonly startedMs: number;
}

/**
 * One thread that sends, seen from the main thread. Starts with the first request. When it ends by itself, or does not
 * answer for `silentTicksMax` seconds, its requests end as failures and the next request starts another one.
 */
export class SenderThread {
  readonly #parts: SenderThreadParts;
  readonly #flights = new Map<number, Flight>();
  readonly #batch = new RequestBatchWriter();
  #worker: SenderWorker | null = null;
  #isReady = false;
  #isFlushDue = false;
  #lastId = 0;
  /** Requests up to this one were handed over. */
  #lastPostedId = 0;
  #watch: Timer | null = null;
  #silentTicks = 0;
  #closed: PromiseWithResolvers<void> | null = null;

  constructor(parts: SenderThreadParts) {
    this.#parts = parts;
  }

  send(request: OutboundRequest): Promise<TransportResult> {
    return new Promise((resolve) => {
      const id = ++this.#lastId;
      this.#flights.set(id, { resolve, startedMs: this.#parts.clock.monotonicMs() });
      this.#batch.add(id, request);
      this.#watchOver();
      if (this.#isFlushDue) return;
      this.#isFlushDue = true;
      setImmediate(() => this.#flush());
    });
  }

  /** Ends the thread; what is in flight fails. */
  async close(): Promise<void> {
    this.#flush();
    if (this.#worker === null) return;
    this.#closed ??= Promise.withResolvers();
    this.#post("close");
    const patience = this.#parts.clock.schedule(closeMsMax, () => this.#closed?.resolve());
    await this.#closed.promise;
    patience.cancel();
    this.#watch?.cancel();
    const worker = this.#worker;
    this.#endPosted(stateUnknown);
    await worker?.terminate();
  }

  #flush(): void {
    if (!this.#isFlushDue) return;
    this.#isFlushDue = false;
    const batch = this.#batch.take();
    this.#lastPostedId = this.#lastId;
    try {
      this.#worker ??= this.#start();
      this.#worker.postMessage(batch satisfies ToSender, [batch.numbers.buffer, batch.bodies.buffer]);
    } catch (error) {
      this.#lost(causeOf(error), shortageOf(error) ?? "threads");
    }
  }

  #start(): SenderWorker {
    const { start, settings, openSockets, slot } = this.#parts;
    const worker = start({ settings, openSockets, slot });
    let end: readonly [cause: string, shortage: Shortage] = ["ended", "threads"];
    worker.on("message", (message: FromSender) => {
      if (worker === this.#worker) this.#receive(message);
    });
    worker.on("error", (error) => {
      end = [causeOf(error), shortageOf(error) ?? "threads"];
    });
    worker.on("exit", () => {
      if (worker === this.#worker) this.#lost(...end);
    });
    // The timer of `#watchOver` keeps the process alive while something is in flight.
    worker.unref();
    return worker;
  }

  #receive(message: FromSender): void {
    this.#silentTicks = 0;
    if (message === "ready") this.#isReady = true;
    else if (message === "closed") this.#closed?.resolve();
    else if (message !== "pong") {
      for (const { id, result } of readResults(message)) {
        const flight = this.#flights.get(id);
        this.#flights.delete(id);
        flight?.resolve(result);
      }
    }
  }

  #post(message: ToSender): void {
    this.#worker?.postMessage(message);
  }

  /** Counts ticks, not time: a process that slept, or a main thread that was held up, finds no fault with its threads. */
  #watchOver(): void {
    if (this.#watch !== null) return;
    this.#watch = this.#parts.clock.schedule(tickMs, () => {
      this.#watch = null;
      if (this.#flights.size === 0) return;
      this.#silentTicks += 1;
      if (this.#silentTicks > silentTicksMax) this.#giveUp();
      else this.#post("ping");
      this.#watchOver();
    });
  }

  #giveUp(): void {
    const worker = this.#worker;
    this.#lost("silent", "threads");
    void worker?.terminate();
  }

  #lost(cause: string, shortage: Shortage): void {
    const isStarted = this.#isReady;
    // A thread that never said it was ready has sent nothing.
    const inFlight = this.#endPosted(isStarted ? stateUnknown : { ...neverStarted, shortage });
    if (this.#closed !== null) this.#closed.resolve();
    else this.#parts.onLost({ cause, inFlight: isStarted ? inFlight : 0 });
  }

  /** Ends what the thread was given, and forgets the thread. What waits for the next turn goes to another one. */
  #endPosted(end: Omit<TransportResult, "durationMs">): number {
    this.#worker = null;
    this.#isReady = false;
    this.#silentTicks = 0;
    Atomics.store(this.#parts.openSockets, this.#parts.slot, 0);
    const nowMs = this.#parts.clock.monotonicMs();
    let ended = 0;
    for (const [id, { resolve, startedMs }] of this.#flights) {
      if (id > this.#lastPostedId) continue;
      this.#flights.delete(id);
      resolve({ ...end, durationMs: Math.round(nowMs - startedMs) });
      ended += 1;
    }
    return ended;
  }
}

function causeOf(error: unknown): string {
  return codeOf(error) ?? (error instanceof Error ? error.name : "error");
}

const tickMs = 1000;
const silentTicksMax = 10;
const closeMsMax = 5000;

/** The receiver may have got the request, and may have acted on it. */
const stateUnknown = {
  observation: { kind: "failure", category: "network", requestSent: true },
  responseSample: null,
  fields: noResponseFields,
  errorMessage: "the thread that sent it ended; it is not known whether the request arrived",
} as const;

const neverStarted = {
  observation: { kind: "failure", category: "network", requestSent: false },
  responseSample: null,
  fields: noResponseFields,
  errorMessage: "no thread could be started to send it",
} as const;
