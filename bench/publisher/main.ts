// An application that publishes single events over HTTP: `node bench/publisher/main.ts`, driven by publisher.ts.

import { Pool } from "undici";
import { eventData } from "../message.ts";
import { machineMs, serveCalls } from "../process/serve-calls.ts";
import type { FastPublishing, PacedPublishing, PublishedEvent, Publishing } from "./publisher.ts";

const connections = 64;

class Publisher {
  readonly #pool: Pool;
  readonly #headers: Record<string, string>;
  readonly #bodies: readonly string[];

  constructor({ url, adminKey, types }: Publishing) {
    this.#pool = new Pool(url, { connections, pipelining: 1 });
    this.#headers = { "authorization": `Bearer ${adminKey}`, "content-type": "application/json" };
    this.#bodies = types.map((eventType) => JSON.stringify({ event_type: eventType, data: eventData }));
  }

  /** The n-th event, types in turn. Returns the answer. */
  async publish(index: number): Promise<string> {
    const body = this.#bodies[index % this.#bodies.length] as string;
    const answer = await this.#pool.request({
      method: "POST",
      path: "/v1/events",
      headers: this.#headers,
      body,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 202) throw new Error(`publishing was answered ${answer.statusCode}: ${text}`);
    return text;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** Every connection publishes one event after the other and waits for each answer. */
async function publish(input: FastPublishing): Promise<void> {
  const publisher = new Publisher(input);
  let started = 0;
  const connection = async (): Promise<void> => {
    while (started < input.events) {
      started += 1;
      await publisher.publish(started - 1);
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  await publisher.close();
}

/** An open loop: publishes when the time has come, whatever became of what was published before. */
async function paced(input: PacedPublishing): Promise<readonly PublishedEvent[]> {
  const publisher = new Publisher(input);
  const startedAt = machineMs();
  const total = Math.floor((input.perSecond * input.durationMs) / 1000);
  const running: Promise<PublishedEvent>[] = [];
  for (let index = 0; index < total; index += 1) {
    const waitMs = startedAt + (index * 1000) / input.perSecond - machineMs();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    running.push(publishOne(publisher, index));
  }
  const events = await Promise.all(running);
  await publisher.close();
  return events;
}

async function publishOne(publisher: Publisher, index: number): Promise<PublishedEvent> {
  const publishedAt = machineMs();
  const { id } = JSON.parse(await publisher.publish(index)) as { id: string };
  return { id, publishedAt, tookMs: machineMs() - publishedAt };
}

serveCalls({ publish, paced });
