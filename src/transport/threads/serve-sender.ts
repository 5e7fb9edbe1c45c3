import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { OutboundRequest, Transport } from "../../ports/transport.ts";
import { readRequests } from "./request-batch.ts";
import { ResultBatchWriter } from "./result-batch.ts";
import type { FromSender, SenderData, ToSender } from "./sender-messages.ts";

/** Creates the transport of a thread. `settings` comes from the main thread. */
export type OpenTransport = (
  settings: never,
  /** Must be called whenever the number of open sockets changes. */
  onOpenSockets: (count: number) => void,
) => Transport;

/** Called by a thread's module: the counterpart of `SenderThread`. */
export function serveSender(open: OpenTransport): void {
  if (parentPort === null) throw new Error("a sender must run in a worker thread");
  serveOn(parentPort, workerData as SenderData, open);
}

/** Sends the requests that arrive at a port, and returns the results of each turn of the event loop. */
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
    // Requests in flight have failed at this point; their results are sent before `closed`.
    await Promise.resolve();
    this.#flush();
    this.#post("closed");
  }

  #post(message: FromSender): void {
    this.#port.postMessage(message);
  }
}
