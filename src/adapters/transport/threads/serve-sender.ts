import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import type { OutboundRequest, Transport } from "../../../ports/transport.ts";
import { readRequests } from "./request-batch.ts";
import { ResultBatchWriter } from "./result-batch.ts";
import type { FromSender, SenderData, ToSender } from "./sender-messages.ts";

/** Makes the transport of a thread. `settings` is what the main thread gave for it. */
export type OpenTransport = (
  settings: never,
  /** To be called whenever the number of open sockets is another one. */
  onOpenSockets: (count: number) => void,
) => Transport;

/** What a thread's module calls: the other end of `SenderThread`. */
export function serveSender(open: OpenTransport): void {
  if (parentPort === null) throw new Error("a sender runs in a thread");
  serveOn(parentPort, workerData as SenderData, open);
}

/** Sends what comes in over a port, and hands the results of each turn of the loop back. */
export function serveOn(
  port: MessagePort,
  { settings, openSockets, slot }: SenderData,
  open: OpenTransport,
): void {
  const transport = open(settings as never, (count) => Atomics.store(openSockets, slot, count));
  new ThreadSide(port, transport).start();
}

class ThreadSide {
  readonly #port: MessagePort;
  readonly #transport: Transport;
  readonly #results = new ResultBatchWriter();
  #isFlushDue = false;

  constructor(port: MessagePort, transport: Transport) {
    this.#port = port;
    this.#transport = transport;
  }

  start(): void {
    this.#port.on("message", (message: ToSender) => this.#receive(message));
    this.#post("ready");
  }

  #receive(message: ToSender): void {
    if (message === "ping") return this.#post("pong");
    if (message === "close") return void this.#close();
    for (const { id, request } of readRequests(message)) void this.#send(id, request);
  }

  async #send(id: number, request: OutboundRequest): Promise<void> {
    this.#results.add(id, await this.#transport.send(request));
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    if (!this.#isFlushDue) return;
    this.#isFlushDue = false;
    const batch = this.#results.take();
    this.#port.postMessage(batch, [batch.numbers.buffer, batch.samples.buffer]);
  }

  async #close(): Promise<void> {
    await this.#transport.close();
    // What was on its way has failed by now, and its results come before the word that this is all.
    await Promise.resolve();
    this.#flush();
    this.#post("closed");
  }

  #post(message: FromSender): void {
    this.#port.postMessage(message);
  }
}
