// What a TypeScript team would build instead: a BullMQ worker. `node bench/bullmq/main.ts`, driven by rows/drain.ts.

import { randomBytes } from "node:crypto";
import { Pool } from "undici";
import { createUuidV7Source } from "../../src/domain/uuid.ts";
import { messageBody, messageHeaders, messageSigner } from "../message.ts";
import { machineMs, serveCalls } from "../process/serve-calls.ts";
import { type BullmqJobData, type BullmqQueue, type BullmqWorker, loadBullmq } from "./packages.ts";

const concurrency = 100;
const bulk = 1_000;
const queueName = "webhooks";
const signer = messageSigner(["v1"]);
let queue: BullmqQueue | null = null;
let worker: BullmqWorker | null = null;

async function open(input: { readonly port: number; readonly origin: string }): Promise<void> {
  const { Queue, Worker } = await loadBullmq();
  const connection = { host: "127.0.0.1", port: input.port };
  const pool = new Pool(input.origin, { connections: concurrency, pipelining: 1 });
  queue = new Queue(queueName, { connection });
  worker = new Worker(queueName, ({ data }) => send(pool, data), { connection, concurrency, autorun: false });
  worker.on("error", (error) => process.stderr.write(`bullmq: ${error.message}\n`));
}

async function send(pool: Pool, job: BullmqJobData): Promise<void> {
  const body = Buffer.from(job.body);
  const headers = messageHeaders(job.id, body, signer);
  const answer = await pool.request({ method: "POST", path: "/ok/bullmq", headers, body });
  await answer.body.dump();
  if (answer.statusCode >= 300) throw new Error(`status ${answer.statusCode}`);
}

async function add(input: { readonly count: number }): Promise<void> {
  const ids = createUuidV7Source(Date.now, randomBytes);
  const body = messageBody().toString();
  const opts = {
    attempts: 10,
    backoff: { type: "exponential", delay: 5_000 },
    removeOnComplete: true,
  } as const;
  for (let added = 0; added < input.count; added += bulk) {
    const jobs = Array.from({ length: Math.min(bulk, input.count - added) }, () => ({
      name: "deliver",
      data: { id: ids.next(), body },
      opts,
    }));
    await queue?.addBulk(jobs);
  }
}

function run(): void {
  void worker?.run();
}

/** Returns the machine's clock reading (ms) when no jobs are waiting or running any more. */
async function finished(): Promise<number> {
  for (;;) {
    const counts = await queue?.getJobCounts("waiting", "active", "delayed", "failed");
    if (counts !== undefined && counts["failed"] !== 0) throw new Error(`${counts["failed"]} jobs failed`);
    if (counts !== undefined && Object.values(counts).every((count) => count === 0)) return machineMs();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const calls = serveCalls({ open, add, run, finished });
export type BullmqCalls = typeof calls;
