/**
 * What `POST /v1/events` costs in the API layer: the real server over a service that does nothing, beside a bare
 * `node:http` handler that parses the same body and answers the same text. Processor time of the server process, client
 * in another one.
 *
 *   node bench/micro/api.ts [--requests N]
 */
import { fork } from "node:child_process";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { parseArgs } from "node:util";
import { profiles } from "../../src/domain/profiles/index.ts";
import type { PublishReceipt, Services } from "../../src/features/services.ts";
import { type ApiOptions, createApi } from "../../src/http/server.ts";
import type { Clock } from "../../src/ports/clock.ts";

const { values } = parseArgs({
  options: { requests: { type: "string", default: "40000" }, client: { type: "string" } },
});
const requests = Number(values.requests);
const connections = 16;

const body = JSON.stringify({
  event_type: "order.completed",
  data: {
    order_id: "ord_1234567890",
    amount: 1999,
    currency: "EUR",
    items: [
      { sku: "a-1", qty: 2 },
      { sku: "b-2", qty: 1 },
    ],
    customer: { id: "cus_998877", email: "someone@example.com" },
  },
  idempotency_key: "k-1234567890",
});

const receipt: PublishReceipt = {
  id: "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c",
  eventType: "order.completed",
  tenantId: "default",
  timestamp: 1_767_225_600_000,
  idempotencyKey: "k-1234567890",
  sequenceNumber: 1,
  deliveries: 1,
  duplicate: false,
};

if (values.client === undefined) await compare();
else await send(Number(values.client));

async function compare(): Promise<void> {
  const bare = await measure("bare node:http", await startBare());
  const real = await measure("POST /v1/events", await startApi());
  console.log(
    `the layer costs ${(real - bare).toFixed(1)} µs more than a bare handler; the goal is 35 µs in all`,
  );
  process.exit(0);
}

async function measure(name: string, port: number): Promise<number> {
  await runClient(port, Math.ceil(requests / 2));
  const startedAt = performance.now();
  const before = process.cpuUsage();
  await runClient(port, requests);
  const used = process.cpuUsage(before);
  const cpuUs = (used.user + used.system) / requests;
  const userUs = used.user / requests;
  const rate = Math.round((requests / (performance.now() - startedAt)) * 1_000);
  console.log(
    `${name.padEnd(16)} ${cpuUs.toFixed(1)} µs of processor a request (${userUs.toFixed(1)} user), ${rate} requests/s`,
  );
  return cpuUs;
}

function runClient(port: number, count: number): Promise<void> {
  const child = fork(import.meta.filename, ["--client", String(port), "--requests", String(count)], {
    execArgv: [],
  });
  return new Promise((resolve, reject) => {
    child.on("exit", (status) =>
      status === 0 ? resolve() : reject(new Error(`the client ended with ${status}`)),
    );
  });
}

/** Sixteen connections with one request each on its way. */
async function send(port: number): Promise<void> {
  const head = `POST /v1/events HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer phk_0123456789abcdef`;
  const message = Buffer.from(
    `${head}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const sender: Sender = { port, message, missing: requests };
  await Promise.all(Array.from({ length: connections }, () => sendOn(sender)));
  process.exit(0);
}

interface Sender {
  readonly port: number;
  readonly message: Buffer;
  /** Requests that nobody has sent yet. */
  missing: number;
}

function sendOn(sender: Sender): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(sender.port, "127.0.0.1");
    socket.setNoDelay(true);
    const next = (): void => {
      if (sender.missing-- > 0) socket.write(sender.message);
      else resolve();
    };
    socket.on("connect", next);
    socket.on("data", (answer: Buffer) => {
      if (!answer.includes("HTTP/1.1 202")) throw new Error(answer.toString());
      next();
    });
  });
}

async function startBare(): Promise<number> {
  const text = JSON.stringify(receipt);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      JSON.parse(Buffer.concat(chunks).toString());
      response.writeHead(202, { "content-type": "application/json", "content-length": text.length });
      response.end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

async function startApi(): Promise<number> {
  const principal = { keyId: "k", role: "publish", tenantId: "default" } as const;
  const services = {
    events: { publish: async () => receipt },
    apiKeys: { authenticate: () => principal },
    webhooks: {},
  } as unknown as Services;
  const clock = { now: () => 0, monotonicMs: () => 0 } as unknown as Clock;
  const nothing = (): void => {};
  const api = await createApi({
    services,
    gateway: {} as ApiOptions["gateway"],
    idempotency: {
      begin: async () => ({ kind: "claimed" }),
      finish: async () => {},
      abandon: async () => {},
      renew: async () => {},
    },
    secretBox: { seal: () => new Uint8Array(), open: () => "", digest: () => "" },
    clock,
    random: { bytes: (count) => new Uint8Array(count) },
    log: { debug: nothing, info: nothing, warn: nothing, error: console.error },
    metrics: { apiCallLimited: nothing },
    limits: { payloadBytesMax: 262_144, connectionsMax: 1_000 },
    // As they are by default, and never reached: the cost of counting is part of a call.
    callRates: {
      keyCallsPerMinute: 1_000_000,
      tenantCallsPerMinute: 1_000_000,
      keyPublishesPerMinute: 1_000_000,
      tenantPublishesPerMinute: 1_000_000,
    },
    readiness: () => ({ ready: true, reasons: [], details: [] }),
    system: () => Promise.reject(new Error("not measured")),
    metricsText: async () => "",
    profiles,
    sourceTypes: [],
    cursorKey: new Uint8Array(32),
    dev: false,
    version: "0.0.0",
  });
  const { url } = await api.listen("127.0.0.1", 0);
  return Number(new URL(url).port);
}
