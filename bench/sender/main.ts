// Publishes events, sends signed messages, or acts as a plain reverse proxy: `node bench/sender/main.ts`, started by
// sender.ts.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { eventData, messageBody } from "../message.ts";
import { atTimes, machineMs, serveCalls, timesOf } from "../process/serve-calls.ts";
import {
  gatewaySecret,
  type PublishedEvent,
  type Publishing,
  type Sending,
  signatureHeader,
} from "./sender.ts";

const connections = 64;

/** Each connection sends its requests one after another and waits for each response. */
async function asFastAsPossible(count: number, send: (index: number) => Promise<unknown>): Promise<void> {
  let started = 0;
  const connection = async (): Promise<void> => {
    while (started < count) {
      started += 1;
      await send(started - 1);
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
}

// ---- events ------------------------------------------------------------------------------------------------------

class Publisher {
  readonly #pool: Pool;
  readonly #headers: Record<string, string>;
  readonly #bodies: readonly string[];

  constructor({ url, adminKey, types }: Publishing) {
    this.#pool = new Pool(url, { connections, pipelining: 1 });
    this.#headers = { "authorization": `Bearer ${adminKey}`, "content-type": "application/json" };
    this.#bodies = types.map((eventType) => JSON.stringify({ event_type: eventType, data: eventData }));
  }

  /** Publishes the n-th event. Returns the response body. */
  async publish(index: number): Promise<string> {
    const body = this.#bodies[index % this.#bodies.length] as string;
    const headers = this.#headers;
    const answer = await this.#pool.request({ method: "POST", path: "/v1/events", headers, body });
    const text = await answer.body.text();
    if (answer.statusCode !== 202) throw new Error(`publishing was answered ${answer.statusCode}: ${text}`);
    return text;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

async function publish(input: { readonly to: Publishing; readonly events: number }): Promise<void> {
  const publisher = new Publisher(input.to);
  await asFastAsPossible(input.events, (index) => publisher.publish(index));
  await publisher.close();
}

interface Pace<To> {
  readonly to: To;
  readonly perSecond: number;
  readonly durationMs: number;
}

async function publishPaced(input: Pace<Publishing>): Promise<readonly PublishedEvent[]> {
  const publisher = new Publisher(input.to);
  const events = await atTimes(timesOf(input.perSecond, input.durationMs), async (index) => {
    const publishedAt = machineMs();
    const { id } = JSON.parse(await publisher.publish(index)) as { id: string };
    return { id, publishedAt, tookMs: machineMs() - publishedAt };
  });
  await publisher.close();
  return events;
}

// ---- messages of the gateway -------------------------------------------------------------------------------------

const prefix = "sha256=";
const body = messageBody().toString("latin1");
/** Delay before the next message if the response has no Retry-After. */
const retryMs = 1_000;

function signed(text: string | Buffer): string {
  return prefix + createHmac("sha256", gatewaySecret).update(text).digest("hex");
}

class Sender {
  readonly #pool: Pool;
  readonly #to: Sending;

  constructor(to: Sending) {
    this.#pool = new Pool(to.origin, { connections, pipelining: 1 });
    this.#to = to;
  }

  /** Sends the n-th message. Throws unless it is accepted. */
  async send(index: number): Promise<void> {
    const { status, text } = await this.offer(index);
    if (status >= 300) throw new Error(`a message was answered ${status}: ${text}`);
  }

  /** Sends the n-th message and accepts any response. */
  async offer(
    index: number,
  ): Promise<{ readonly status: number; readonly text: string; readonly retryAfterMs: number | null }> {
    const { paths, first } = this.#to;
    // The number makes each message unique.
    const message = `${body.slice(0, -1)},"n":${first + index}}`;
    const answer = await this.#pool.request({
      method: "POST",
      path: paths[index % paths.length] as string,
      headers: { "content-type": "application/json", [signatureHeader]: signed(message) },
      body: message,
    });
    const text = await answer.body.text();
    const seconds = answer.headers["retry-after"];
    const retryAfterMs = seconds === undefined ? null : Number(seconds) * 1_000;
    return { status: answer.statusCode, text, retryAfterMs };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

async function send(input: { readonly to: Sending; readonly messages: number }): Promise<number> {
  const sender = new Sender(input.to);
  const startedAt = machineMs();
  await asFastAsPossible(input.messages, (index) => sender.send(index));
  const tookMs = machineMs() - startedAt;
  await sender.close();
  return tookMs;
}

async function sendPaced(input: Pace<Sending>): Promise<readonly number[]> {
  const sender = new Sender(input.to);
  const took = await atTimes(timesOf(input.perSecond, input.durationMs), async (index) => {
    const sentAt = machineMs();
    await sender.send(index);
    return machineMs() - sentAt;
  });
  await sender.close();
  return took;
}

/**
 * Keeps sending to a destination that hangs. Each connection waits for the time in Retry-After, so that it is rarely
 * refused.
 */
function flood(to: Sending): null {
  const sender = new Sender(to);
  const connection = async (from: number): Promise<never> => {
    for (let index = from; ; index += connections) {
      const answer = await sender.offer(index).catch(() => null);
      await sleep(answer?.retryAfterMs ?? retryMs);
    }
  };
  for (let index = 0; index < connections; index += 1) void connection(index);
  return null;
}

/**
 * A minimal proxy, as a team would first write it: it reads the body, compares the signature and forwards the request.
 * Returns its URL.
 */
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
  const answer = await pool.request({ method: "POST", path: request.url ?? "/", headers, body: message });
  response.writeHead(answer.statusCode).end(Buffer.from(await answer.body.arrayBuffer()));
}

const calls = serveCalls({ publish, publishPaced, send, sendPaced, flood, proxy });
export type SenderCalls = typeof calls;
