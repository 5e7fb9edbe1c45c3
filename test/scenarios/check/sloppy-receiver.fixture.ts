import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import { receivedHeaders } from "../../../src/receiver/message/message.ts";
import type { ReceiverAnswer } from "../../../src/receiver/answers.ts";
import type { ReceiverOptions } from "../../../src/receiver/receiver-options.ts";
import type { Receiver } from "../../../src/receiver/receiver.ts";
import { kitReceiver } from "./kit-receiver.fixture.ts";

/** A request in the form in which the sloppy receiver handles it. */
export interface Arrival {
  readonly method: string;
  readonly url: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Header names as received. */
  readonly rawNames: readonly string[];
  readonly body: string;
}

/** Handles some requests and passes the others to `honest`. It may also call `honest` with a changed request. */
export type Fault = (
  arrival: Arrival,
  honest: (changed?: Partial<Arrival> & { readonly now?: number }) => Promise<ReceiverAnswer>,
) => ReceiverAnswer | Promise<ReceiverAnswer>;

export function answerWith(status: number, headers: Readonly<Record<string, string>> = {}): ReceiverAnswer {
  return { status, headers, body: null };
}

export interface SloppyReceiver {
  readonly url: string;
  /** How many times the receiver's handler has run. */
  readonly handled: number;
  close(): Promise<void>;
}

/** Long enough for two concurrent requests to overlap in the handler. */
const handlerMs = 25;
/**
 * Additional turns of the event loop after `handlerMs`. The requests come from this process, and after a stall, timers
 * run before sockets.
 */
const handlerTurns = 20;
const bodyBytesMax = 1024 * 1024;

/**
 * A correct receiver with a fault in front of it. `readsBytes` is how many bytes of a body it reads before any other
 * check.
 */
export async function startSloppyReceiver(options: {
  readonly profile: string;
  readonly fault: Fault;
  readonly kit?: Partial<ReceiverOptions>;
  readonly readsBytes?: number;
}): Promise<SloppyReceiver> {
  let handled = 0;
  let now: number | null = null;
  const receiver = kitReceiver(options.profile, {
    handler: async (received) => {
      await new Promise((resolve) => setTimeout(resolve, handlerMs));
      for (let turn = 0; turn < handlerTurns; turn += 1) await setImmediate();
      received.json();
      handled += 1;
    },
    now: () => now ?? Date.now(),
    ...options.kit,
  });
  const server = createServer((request, response) => {
    void respond(request).then((answer) => {
      response.writeHead(answer.status, { ...answer.headers }).end(answer.body ?? undefined);
      if (!request.complete) response.once("finish", () => request.destroy());
    });
  });

  async function respond(request: IncomingMessage): Promise<ReceiverAnswer> {
    const body = await read(request, options.readsBytes ?? bodyBytesMax);
    const arrival = arrivalOf(request, body ?? "");
    const honest: Parameters<Fault>[1] = async ({ now: pretended, ...changed } = {}) => {
      if (body === null || body.length > bodyBytesMax) return answerWith(413);
      now = pretended ?? null;
      return handle(receiver, { ...arrival, ...changed }).finally(() => (now = null));
    };
    return options.fault(arrival, honest);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    get handled() {
      return handled;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function handle(receiver: Receiver, { method, url, headers, body }: Arrival): Promise<ReceiverAnswer> {
  const message = { method, url, headers: receivedHeaders(Object.entries(headers)), body: Buffer.from(body) };
  return receiver.handle(message);
}

/** Null if the body is too large; the rest is then not read. */
async function read(request: IncomingMessage, bytesMax: number): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const iterator = request.iterator({ destroyOnReturn: false });
  for await (const chunk of iterator as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function arrivalOf(request: IncomingMessage, body: string): Arrival {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  const rawNames = request.rawHeaders.filter((_, index) => index % 2 === 0);
  return { method: request.method ?? "", url: request.url ?? "/", headers, rawNames, body };
}
