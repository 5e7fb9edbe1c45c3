import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Raw request, because signatures cover the exact bytes. */
export interface ReceivedDelivery {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  readonly receivedAt: Date;
}

export interface ReceiverAnswer {
  /** Why the forward target did not respond; shown in the terminal. */
  readonly failure?: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface LocalReceiver {
  readonly url: string;
  close(): Promise<void>;
}

const bodyBytesMax = 32 * 1024 * 1024;

/** Starts a local server that passes every request to `answer`. */
export async function startLocalReceiver(
  port: number,
  answer: (delivery: ReceivedDelivery) => Promise<ReceiverAnswer>,
): Promise<LocalReceiver> {
  const server = createServer((request, response) => void handle(request, response, answer));
  await listen(server, port);
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: "127.0.0.1" }, resolve);
  });
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (delivery: ReceivedDelivery) => Promise<ReceiverAnswer>,
): Promise<void> {
  try {
    const body = await readBody(request);
    const { method = "", url: path = "/" } = request;
    const headers = singleHeaders(request.headers);
    const reply = await answer({ method, path, headers, body, receivedAt: new Date() });
    response.writeHead(reply.status, reply.headers);
    response.end(reply.body);
  } catch {
    // The sender aborted the request and will retry.
    response.destroy();
  }
}

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new RangeError("the body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function singleHeaders(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]),
  );
}
