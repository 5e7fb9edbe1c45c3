// The upper limit: a bare undici loop that signs and sends. `node bench/raw/main.ts`, started by raw.ts.

import { randomBytes } from "node:crypto";
import type { LookupFunction } from "node:net";
import { Agent, type Dispatcher, Pool } from "undici";
import type { Signer } from "../../src/domain/signing/standard-webhooks.ts";
import { createUuidV7Source } from "../../src/domain/uuid.ts";
import { messageBody, messageHeaders, messageSigner } from "../message.ts";
import { atTimes, machineMs, serveCalls, timesOf } from "../process/serve-calls.ts";
import type { PacedResult, RawResult } from "./raw.ts";

const concurrency = 100;
const path = "/ok/raw";
const body = messageBody();
const ids = createUuidV7Source(Date.now, randomBytes);
let pool: Pool | null = null;
let signer: Signer = () => "";

function open(input: { readonly origin: string }): void {
  pool = new Pool(input.origin, { connections: concurrency, pipelining: 1 });
}

function connected(): Pool {
  if (pool === null) throw new Error("open comes first");
  return pool;
}

async function sendByRequest(id: string): Promise<void> {
  const answer = await connected().request({
    method: "POST",
    path,
    headers: messageHeaders(id, body, signer),
    body,
  });
  await answer.body.dump();
}

function sendByDispatch(id: string): Promise<void> {
  return new Promise((resolve, reject) => {
    connected().dispatch(
      { method: "POST", path, headers: messageHeaders(id, body, signer), body },
      new DrainHandler(resolve, reject),
    );
  });
}

async function run(input: {
  readonly durationMs: number;
  readonly schemes: readonly ("v1" | "v1a")[];
  readonly by: "request" | "dispatch";
}): Promise<RawResult> {
  signer = messageSigner(input.schemes);
  const send = input.by === "request" ? sendByRequest : sendByDispatch;
  const startedAt = machineMs();
  const cpuBefore = process.cpuUsage();
  let requests = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      // Each lane has one request in flight, so the number of lanes limits the concurrency.
      await send(ids.next());
      requests += 1;
    }
  };
  const endsAt = performance.now() + input.durationMs;
  await Promise.all(Array.from({ length: concurrency }, lane));
  const cpu = process.cpuUsage(cpuBefore);
  return { requests, elapsedMs: machineMs() - startedAt, cpuMs: (cpu.user + cpu.system) / 1000 };
}

/** Requests start at fixed times, even if earlier ones have not ended. */
async function paced(input: {
  readonly perSecond: number;
  readonly durationMs: number;
}): Promise<PacedResult> {
  signer = messageSigner(["v1"]);
  const sent = await atTimes(timesOf(input.perSecond, input.durationMs), async () => {
    const id = ids.next();
    const startedAt = machineMs();
    await sendByRequest(id);
    return { id, startedAt, endedAt: machineMs() };
  });
  return { sent };
}

/** Sends this many requests over TLS to the origins in round-robin order, at the same concurrency as without TLS. */
async function overTls(input: {
  readonly origins: readonly string[];
  readonly path: string;
  readonly requests: number;
}): Promise<RawResult> {
  signer = messageSigner(["v1"]);
  // Every name resolves to this machine.
  const lookup: LookupFunction = (_name, _options, done) => done(null, [{ address: "127.0.0.1", family: 4 }]);
  const agent = new Agent({ connections: 1, pipelining: 1, allowH2: false, connect: { lookup } });
  const startedAt = machineMs();
  const cpuBefore = process.cpuUsage();
  let started = 0;
  const lane = async (first: number): Promise<void> => {
    for (let index = first; started < input.requests; index += concurrency) {
      started += 1;
      const { origins } = input;
      const answer = await agent.request({
        origin: origins[index % origins.length] as string,
        method: "POST",
        path: input.path,
        headers: messageHeaders(ids.next(), body, signer),
        body,
      });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, (_, index) => lane(index)));
  const cpu = process.cpuUsage(cpuBefore);
  const elapsedMs = machineMs() - startedAt;
  await agent.destroy();
  return { requests: input.requests, elapsedMs, cpuMs: (cpu.user + cpu.system) / 1000 };
}

const calls = serveCalls({ open, run, overTls, paced });
export type RawCalls = typeof calls;

/** The smallest handler that undici accepts. It waits for the end of the response and keeps nothing. */
class DrainHandler implements Dispatcher.DispatchHandler {
  readonly #done: () => void;
  readonly #failed: (error: Error) => void;

  constructor(done: () => void, failed: (error: Error) => void) {
    this.#done = done;
    this.#failed = failed;
  }

  onRequestStart(): void {}
  onResponseStart(): void {}
  onResponseData(): void {}
  onResponseEnd(): void {
    this.#done();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#failed(error);
  }
}
