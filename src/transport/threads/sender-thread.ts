import type { Worker } from "node:worker_threads";
import { codeOf } from "../../domain/thrown.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import {
  noResponseFields,
  type OutboundRequest,
  type Shortage,
  type TransportResult,
} from "../../ports/transport.ts";
import { shortageOf } from "../http/failures.ts";
import { type RequestBatch, RequestBatchWriter } from "./request-batch.ts";
import { readResults } from "./result-batch.ts";
import type { FromSender, SenderData, ToSender } from "./sender-messages.ts";

/** The part of a `Worker` that is used. */
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

/** Information about a thread that ended unexpectedly. */
export interface LostSender {
  /** An error code or name; never the message, which may contain the data being sent. */
  readonly cause: string;
  /** Number of requests whose progress is unknown. */
  readonly inFlight: number;
}

interface Flight {
  readonly resolve: (result: TransportResult) => void;
  readonly startedMs: number;
}

/**
 * One sending thread, seen from the main thread. Starts with the first request. When it ends, or does not respond for
 * `silentTicksMax` seconds, its requests fail and the next request starts another thread.
 *
 * It receives requests only when it is ready. On a busy machine, starting may take longer than a request should wait.
 * The requests are then returned and the start continues: another thread would take as long and might never become
 * ready either.
 */
export class SenderThread {
  readonly #parts: SenderThreadParts;
  readonly #flights = new Map<number, Flight>();
  readonly #batch = new RequestBatchWriter();
  #worker: SenderWorker | null = null;
  #isReady = false;
  #isFlushDue = false;
  /** Requests for a thread that is not ready. */
  #held: RequestBatch[] = [];
  #lastId = 0;
  /** Requests up to this id were handed over, or are held for the thread that is starting. */
  #lastGivenId = 0;
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

  /** Ends the thread; requests in flight fail. */
  async close(): Promise<void> {
    this.#flush();
    if (this.#worker === null) return;
    this.#closed ??= Promise.withResolvers();
    if (this.#isReady) await this.#closeSender(this.#closed);
    this.#watch?.cancel();
    const worker = this.#worker;
    this.#endGiven(this.#isReady ? stateUnknown : neverStarted);
    this.#forget();
    await worker?.terminate();
  }

  async #closeSender({ promise, resolve }: PromiseWithResolvers<void>): Promise<void> {
    this.#post("close");
    const patience = this.#parts.clock.schedule(closeMsMax, resolve);
    await promise;
    patience.cancel();
  }

  #flush(): void {
    if (!this.#isFlushDue) return;
    this.#isFlushDue = false;
    this.#held.push(this.#batch.take());
    this.#lastGivenId = this.#lastId;
    try {
      this.#worker ??= this.#start();
      if (this.#isReady) this.#handOver(this.#worker);
    } catch (error) {
      this.#lost(causeOf(error), shortageOf(error) ?? "threads");
    }
  }

  #handOver(worker: SenderWorker): void {
    for (const batch of this.#held.splice(0))
      worker.postMessage(batch satisfies ToSender, [batch.numbers.buffer, batch.bodies.buffer]);
  }

  #start(): SenderWorker {
    const { start, settings, openSockets, slot } = this.#parts;
    const worker = start({ settings, openSockets, slot });
    let end: readonly [cause: string, shortage: Shortage] = ["ended", "threads"];
    worker.on("message", (message: FromSender) => {
      if (worker === this.#worker) this.#receive(worker, message);
    });
    worker.on("error", (error) => {
      end = [causeOf(error), shortageOf(error) ?? "threads"];
    });
    worker.on("exit", () => {
      if (worker === this.#worker) this.#lost(...end);
    });
    // The timer of `#watchOver` keeps the process alive while requests are in flight.
    worker.unref();
    return worker;
  }

  #receive(worker: SenderWorker, message: FromSender): void {
    this.#silentTicks = 0;
    if (message === "ready") {
      this.#isReady = true;
      this.#handOver(worker);
    } else if (message === "closed") this.#closed?.resolve();
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

  /**
   * Counts ticks, not time: after the process was suspended or the main thread was blocked, its threads are not
   * considered dead.
   */
  #watchOver(): void {
    if (this.#watch !== null) return;
    this.#watch = this.#parts.clock.schedule(tickMs, () => {
      this.#watch = null;
      if (this.#flights.size === 0) return;
      this.#silentTicks += 1;
      if (this.#silentTicks > (this.#isReady ? silentTicksMax : startTicksMax)) this.#giveUp();
      else if (this.#isReady) this.#post("ping");
      else if (this.#silentTicks % silentTicksMax === 0) this.#sendBack("threads");
      this.#watchOver();
    });
  }

  /** A thread that never reported ready has sent nothing. */
  #sendBack(shortage: Shortage): void {
    this.#held = [];
    this.#endGiven({ ...neverStarted, shortage });
  }

  #giveUp(): void {
    const worker = this.#worker;
    this.#lost("silent", "threads");
    void worker?.terminate();
  }

  #lost(cause: string, shortage: Shortage): void {
    const inFlight = this.#isReady ? this.#endGiven(stateUnknown) : 0;
    if (!this.#isReady) this.#sendBack(shortage);
    this.#forget();
    if (this.#closed !== null) this.#closed.resolve();
    else this.#parts.onLost({ cause, inFlight });
  }

  #forget(): void {
    this.#worker = null;
    this.#isReady = false;
    this.#held = [];
    this.#silentTicks = 0;
    Atomics.store(this.#parts.openSockets, this.#parts.slot, 0);
  }

  /** Fails the requests that the thread was given, except those that wait for the next turn. */
  #endGiven(end: Omit<TransportResult, "durationMs">): number {
    const nowMs = this.#parts.clock.monotonicMs();
    let ended = 0;
    for (const [id, { resolve, startedMs }] of this.#flights) {
      if (id > this.#lastGivenId) continue;
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
/** A working machine never takes this long to start a thread: a module that it loads hangs. */
const startTicksMax = 300;
const closeMsMax = 5000;

/** The receiver may have received the request, and may have acted on it. */
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
