/**
 * What `Transport.send` costs beside bare undici: `node bench/micro/transport.ts [seconds] [only]`.
 *
 * All loops send the same signed-looking request at concurrency 100 to the same sink in a child process, in turns,
 * because the machine's speed wanders. The figures are the processor time per request of this process and of its main
 * thread alone.
 */
import { fork } from "node:child_process";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { type Dispatcher, Pool } from "undici";
import { createAddressPolicy } from "../../src/domain/egress/address-policy.ts";
import { systemClock as clock } from "../../src/system/clock.ts";
import { createHostNames, createLookupSlots } from "../../src/system/host-names.ts";
import { createHttpTransport } from "../../src/transport/http/http-transport.ts";
import { createThreadsTransport } from "../../src/transport/threads/threads-transport.ts";

const concurrency = 100;
const rounds = 4;
const payload = Buffer.from(JSON.stringify({ type: "order.created", data: { text: "x".repeat(400) } }));
const headers = [
  "Content-Type",
  "application/json",
  "User-Agent",
  "Posthorn/0.1.0",
  "Webhook-ID",
  "0198f3c2-7b1e-7c52-9d40-1f0d3c5b7a91",
  "Webhook-Timestamp",
  "1764000000",
  "Webhook-Signature",
  "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  "Idempotency-Key",
  '"0198f3c2-7b1e-7c52-9d40-1f0d3c5b7a91"',
];

/** Answers every request without parsing more than it must: the request's last byte is known by its length. */
function serveSink(): void {
  const answer = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  const server = createServer({ noDelay: true }, (socket) => {
    let missing = 0;
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => {
      if (missing === 0) missing = chunk.indexOf("\r\n\r\n") + 4 + payload.length;
      missing -= chunk.length;
      if (missing <= 0) socket.write(answer);
      missing = Math.max(missing, 0);
    });
  });
  process.once("disconnect", () => process.exit());
  server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
}

type SendOne = (done: () => void) => void;

async function compare(seconds: number, only: string | undefined): Promise<void> {
  const sink = fork(fileURLToPath(import.meta.url), ["sink"], { execArgv: [] });
  const { port } = await new Promise<{ port: number }>((resolve) =>
    sink.once("message", resolve as () => void),
  );
  const origin = `http://127.0.0.1:${port}`;
  const pool = new Pool(origin, {
    connections: concurrency,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const transport = createHttpTransport({
    addressPolicy: createAddressPolicy({ allow: [], allowLoopback: true }),
    clock,
    dns: createHostNames(),
    socketsMax: 200,
    idleSocketMs: 4000,
  });
  const threads = createThreadsTransport({
    threads: 1,
    start: (workerData) =>
      new Worker(new URL("../../src/app/sender-entry.ts", import.meta.url), { workerData }),
    settings: {
      egressAllow: [],
      allowLoopback: true,
      egressProxy: null,
      lookupSlots: createLookupSlots(),
      socketsMax: 200,
      idleSocketsMax: 200,
    },
    clock,
    onLost: ({ cause }) => console.error(`a sender ended: ${cause}`),
  });
  const request = {
    method: "POST",
    origin,
    path: "/hook",
    headers,
    body: payload,
    timeoutMs: 30_000,
    http2: false,
    clientCertificate: null,
  } as const;
  const contestants: Record<string, SendOne> = {
    "pool.request": (done) => void requestOnce(pool).then(done),
    "pool.dispatch": (done) => void dispatchOnce(pool).then(done),
    "transport.send": (done) => void transport.send(request).then(done),
    "threads.send": (done) => void threads.send(request).then(done),
  };
  const names = Object.keys(contestants).filter((name) => only === undefined || name.includes(only));
  const best = new Map<string, Figure>();
  for (let round = 0; round <= rounds; round++) {
    for (const name of names) {
      const figure = await measure(contestants[name] as SendOne, round === 0 ? 1 : seconds);
      if (round > 0 && figure.cpuUs < (best.get(name)?.cpuUs ?? Infinity)) best.set(name, figure);
    }
  }
  const base = best.get("pool.dispatch")?.cpuUs ?? 0;
  for (const [name, { cpuUs, mainUs, perSecond }] of best) {
    const beside = base === 0 ? "" : `, ${(cpuUs - base).toFixed(2)} µs beside dispatch`;
    console.log(
      `${name.padEnd(16)} ${cpuUs.toFixed(2)} µs, main thread ${mainUs.toFixed(2)} µs, ${Math.round(perSecond)}/s${beside}`,
    );
  }
  await transport.close();
  await threads.close();
  await pool.destroy();
  sink.kill();
}

async function requestOnce(pool: Pool): Promise<void> {
  const { body } = await pool.request({ method: "POST", path: "/hook", headers, body: payload });
  await body.arrayBuffer();
}

function dispatchOnce(pool: Pool): Promise<void> {
  return new Promise((resolve, reject) => {
    pool.dispatch(
      { method: "POST", path: "/hook", headers, body: payload },
      new BareHandler(resolve, reject),
    );
  });
}

class BareHandler implements Dispatcher.DispatchHandler {
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;

  constructor(resolve: () => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(): void {}
  onResponseStart(): void {}
  onResponseData(): void {}
  onResponseEnd(): void {
    this.#resolve();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reject(error);
  }
}

interface Figure {
  readonly cpuUs: number;
  readonly mainUs: number;
  readonly perSecond: number;
}

function measure(sendOne: SendOne, seconds: number): Promise<Figure> {
  return new Promise((resolve) => {
    const started = performance.now();
    const cpu = process.cpuUsage();
    const main = process.threadCpuUsage();
    let running = concurrency;
    let count = 0;
    const next = (): void => {
      count++;
      if (performance.now() - started < seconds * 1000) return sendOne(next);
      if (--running > 0) return;
      const used = process.cpuUsage(cpu);
      const mainUsed = process.threadCpuUsage(main);
      const elapsedS = (performance.now() - started) / 1000;
      resolve({
        cpuUs: (used.user + used.system) / count,
        mainUs: (mainUsed.user + mainUsed.system) / count,
        perSecond: count / elapsedS,
      });
    };
    for (let lane = 0; lane < concurrency; lane++) sendOne(next);
  });
}

if (process.argv[2] === "sink") serveSink();
else await compare(Number(process.argv[2] ?? 3), process.argv[3]);
