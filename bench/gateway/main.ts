// A sender of signed messages, and a bare reverse proxy: `node bench/gateway/main.ts`, driven by gateway.ts.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "undici";
import { messageBody } from "../message.ts";
import { machineMs, serveCalls } from "../process/serve-calls.ts";
import { gatewaySecret, signatureHeader, type PacedSending, type Sending } from "./gateway.ts";

const connections = 64;
/** A number of its own makes each message another one. */
const body = messageBody().toString("latin1");
const prefix = "sha256=";
/** Before the next message of who was not told when to come back. */
const unaskedWaitMs = 1_000;

function signed(text: string | Buffer): string {
  return prefix + createHmac("sha256", gatewaySecret).update(text).digest("hex");
}

class Sender {
  readonly #pool: Pool;
  readonly #input: Sending;

  constructor(input: Sending) {
    this.#pool = new Pool(input.origin, { connections, pipelining: 1 });
    this.#input = input;
  }

  /** The n-th message, paths in turn, which must be accepted. */
  async send(index: number): Promise<void> {
    const { status, said } = await this.offer(index);
    if (status >= 300) throw new Error(`a message was answered ${status}: ${said}`);
  }

  /** The n-th message, paths in turn, whatever it is answered. */
  async offer(
    index: number,
  ): Promise<{ readonly status: number; readonly said: string; readonly retryAfterMs: number | null }> {
    const { paths, first } = this.#input;
    const text = `${body.slice(0, -1)},"n":${first + index}}`;
    const answer = await this.#pool.request({
      method: "POST",
      path: paths[index % paths.length] as string,
      headers: { "content-type": "application/json", [signatureHeader]: signed(text) },
      body: text,
    });
    const said = await answer.body.text();
    const seconds = answer.headers["retry-after"];
    return {
      status: answer.statusCode,
      said,
      retryAfterMs: seconds === undefined ? null : Number(seconds) * 1_000,
    };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** Every connection sends one message after the other and waits for each answer. Returns how long it took. */
async function send(input: Sending & { readonly messages: number }): Promise<number> {
  const sender = new Sender(input);
  const startedAt = machineMs();
  let started = 0;
  const connection = async (): Promise<void> => {
    while (started < input.messages) {
      started += 1;
      await sender.send(started - 1);
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  const tookMs = machineMs() - startedAt;
  await sender.close();
  return tookMs;
}

/** Sends when the time has come; how long each took. */
async function paced(input: PacedSending): Promise<readonly number[]> {
  const sender = new Sender(input);
  const startedAt = machineMs();
  const running: Promise<number>[] = [];
  for (let index = 0; index < (input.perSecond * input.durationMs) / 1_000; index += 1) {
    const waitMs = startedAt + (index * 1_000) / input.perSecond - machineMs();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const sentAt = machineMs();
    running.push(sender.send(index).then(() => machineMs() - sentAt));
  }
  const took = await Promise.all(running);
  await sender.close();
  return took;
}

/** Messages to a destination that hangs: whatever they are answered, another one follows when Retry-After says. */
function flood(input: Sending): null {
  const sender = new Sender(input);
  const connection = async (from: number): Promise<never> => {
    for (let index = from; ; index += connections) {
      const answer = await sender.offer(index).catch(() => null);
      // Well-behaved, so that it does not become a flood of refusals.
      const waitMs = answer?.retryAfterMs ?? unaskedWaitMs;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  };
  for (let index = 0; index < connections; index += 1) void connection(index);
  return null;
}

/** What a team would write first: reads the body, compares the signature, and hands on. Returns its address. */
async function proxy({ origin }: { readonly origin: string }): Promise<string> {
  const pool = new Pool(origin, { connections: 100, pipelining: 1 });
  const server = createServer((request, response) => {
    void relay(pool, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function relay(pool: Pool, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const message = Buffer.concat(chunks);
  const expected = Buffer.from(signed(message));
  const given = Buffer.from(String(request.headers[signatureHeader] ?? ""));
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    response.writeHead(401).end();
    return;
  }
  const headers = { "content-type": String(request.headers["content-type"]) };
  const path = request.url ?? "/";
  const answer = await pool.request({ method: "POST", path, headers, body: message });
  response.writeHead(answer.statusCode).end(Buffer.from(await answer.body.arrayBuffer()));
}

serveCalls({ send, paced, flood, proxy });
