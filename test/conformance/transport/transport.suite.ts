/**
 * What every transport must do, with real sockets. Run by `<adapter>.test.ts` in the same folder.
 *
 * The rows about hostile receivers all check the same four things: the report, that it arrives in time, that only a
 * bounded number of bytes was read, and that another receiver was served throughout.
 */
import { strict as assert } from "node:assert";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { AddressPolicy } from "../../../src/domain/egress/address-policy.ts";
import type { AttemptObservation } from "../../../src/domain/classify.ts";
import {
  type OutboundRequest,
  responseSampleBytesMax,
  type Transport,
  type TransportResult,
} from "../../../src/ports/transport.ts";
import {
  type Behaviour,
  type HostileOptions,
  type HostileReceiver,
  startHostileReceiver,
} from "../../peers/hostile-receiver.ts";
import { type Receiver, startReceiver } from "../../peers/receiver.ts";

export interface TransportSetup {
  readonly policy: Pick<AddressPolicy, "judge">;
  /** IP addresses by host name, used instead of the system's resolver. A function is called for each query. */
  readonly names?: Readonly<Record<string, () => readonly string[]>>;
  readonly ca?: string;
}

export type CreateTransport = (setup: TransportSetup) => Transport;

export const loopbackOnly: Pick<AddressPolicy, "judge"> = {
  judge: (address) =>
    address === "127.0.0.1"
      ? { allowed: true }
      : { allowed: false, addressClass: "private", reason: "not loopback" },
};

/** Additional time allowed on a busy machine. An unbounded read would never end. */
const slackMs = 15_000;
/** Includes the bytes in the kernel's socket buffers on both sides, because they count as written. */
const floodBytesMax = 12 * 1024 * 1024;

/** Deadline for the rows that test the deadline. */
export const deadlineMs = 2_000;
/** Deadline for all other rows. Only a stalled machine would reach it. */
const patientMs = 60_000;

export const testRequest = {
  method: "POST",
  path: "/hook?secret=canary",
  headers: ["Content-Type", "application/json", "X-Canary", "canary-value"],
  body: Buffer.from('{"n":1}'),
  timeoutMs: patientMs,
  http2: false,
  clientCertificate: null,
} as const;

export interface HostileRow {
  readonly title: string;
  readonly behave: Behaviour;
  /** Several values if the outcome depends on which side is faster. */
  readonly expected: AttemptObservation | readonly AttemptObservation[];
  /** Set if the receiver's behaviour is within bounds, so that the connection may stay open. */
  readonly mayKeepConnection?: boolean;
  readonly message?: RegExp;
  readonly tls?: NonNullable<HostileOptions["tls"]>;
  readonly hostname?: string;
}

/** Sends to a hostile receiver of one row while the same transport serves a healthy receiver. */
export function hostileTest(row: HostileRow, create: CreateTransport, ca?: string): void {
  it(row.title, async () => {
    const setup = ca === undefined ? {} : { ca, names: { localhost: () => ["127.0.0.1"] } };
    await withPeers(
      create({ policy: loopbackOnly, ...setup }),
      row,
      async ({ transport, hostile, healthy }) => {
        const request = { ...testRequest, origin: hostile.origin };
        const neighbour = keepSending(transport, healthy.origin);
        const { result, lateMs } = await sentInTime(transport, request, row.expected);
        const slowestMs = await neighbour.stop();
        checkObservation(result, row.expected);
        assert.ok(lateMs < slackMs, `took ${lateMs} ms longer than its deadline`);
        assert.ok(slowestMs < slackMs, `a healthy receiver waited ${slowestMs} ms`);
        assert.ok(hostile.bytesWritten < floodBytesMax, `${hostile.bytesWritten} bytes were read`);
        checkMessage(result, row.message);
        assert.ok((result.responseSample?.length ?? 0) <= responseSampleBytesMax);
        if (row.mayKeepConnection !== true) await hostile.untilAllClosed();
      },
    );
  });
}

/**
 * Only a row about the deadline may reach the deadline, however busy the machine is. If the deadline passed before this
 * machine had sent the request, the result says nothing about the receiver. The request is then repeated with a longer
 * deadline.
 */
export async function sentInTime(
  transport: Transport,
  request: Omit<OutboundRequest, "timeoutMs">,
  expected: HostileRow["expected"],
): Promise<{ readonly result: TransportResult; readonly lateMs: number }> {
  const deadline = [expected].flat().find(isTimeout);
  for (let timeoutMs = deadline === undefined ? patientMs : deadlineMs; ; timeoutMs *= 4) {
    const startedMs = performance.now();
    const result = await transport.send({ ...request, timeoutMs });
    const { observation } = result;
    const isTooEarly = deadline?.requestSent === true && isTimeout(observation) && !observation.requestSent;
    if (!isTooEarly || timeoutMs >= patientMs)
      return { result, lateMs: performance.now() - startedMs - timeoutMs };
  }
}

function isTimeout(observation: AttemptObservation): observation is AttemptObservation & { kind: "failure" } {
  return observation.kind === "failure" && observation.category === "timeout";
}

interface Peers {
  readonly transport: Transport;
  readonly hostile: HostileReceiver;
  readonly healthy: Receiver;
}

async function withPeers(
  transport: Transport,
  options: HostileOptions,
  run: (peers: Peers) => Promise<void>,
): Promise<void> {
  const hostile = await startHostileReceiver(options);
  const healthy = await startReceiver();
  try {
    await run({ transport, hostile, healthy });
  } finally {
    await transport.close();
    await Promise.all([hostile.close(), healthy.close()]);
  }
  assert.equal(transport.openSockets(), 0);
}

/** Sends requests to a healthy receiver one after another until stopped; resolves with the duration of the slowest. */
function keepSending(transport: Transport, origin: string): { stop(): Promise<number> } {
  let stopped = false;
  let slowestMs = 0;
  const loop = async (): Promise<void> => {
    while (!stopped) {
      const result = await transport.send({ ...testRequest, origin });
      assert.deepEqual(result.observation, { kind: "response", status: 200, complete: true });
      slowestMs = Math.max(slowestMs, result.durationMs);
    }
  };
  const running = loop();
  return {
    stop: async () => {
      stopped = true;
      await running;
      return slowestMs;
    },
  };
}

function checkObservation(result: TransportResult, expected: HostileRow["expected"]): void {
  const allowed = [expected].flat();
  const found = allowed.find((one) => isDeepStrictEqual(one, result.observation));
  assert.deepEqual(result.observation, found ?? allowed[0], result.errorMessage ?? "");
}

export function checkMessage(result: TransportResult, expected: RegExp | undefined): void {
  const message = result.errorMessage;
  if (expected !== undefined) assert.match(message ?? "", expected);
  if (result.observation.kind === "failure") assert.ok(message !== null && message.length > 0);
  assert.ok(message === null || message.length <= 300);
  assert.doesNotMatch(message ?? "", /canary/, "no part of the request is in the message");
}

export function transportSuite(name: string, create: CreateTransport): void {
  describe(`transport ${name}: requests`, () => {
    it("sends method, path, headers in their order and letter case, and the body's bytes", async () => {
      await withReceiver(create, async ({ transport, receiver }) => {
        const body = Buffer.from([0, 255, 10, 13, 128]);
        const headers = ["X-b", "2", "x-A", "1", "Content-Type", "application/octet-stream"];
        await transport.send({ ...testRequest, origin: receiver.origin, path: "/a/b?c=%20d", headers, body });
        const [request] = await receiver.waitForRequests(1);
        assert.equal(request?.method, "POST");
        assert.equal(request.path, "/a/b?c=%20d");
        assert.deepEqual(request.body, body);
        const own = request.rawHeaders.filter((_, at, all) =>
          /^(x-|content-type)/i.test(all[at - (at % 2)] ?? ""),
        );
        assert.deepEqual(own, headers);
        assert.equal(request.headers["content-length"], "5");
        assert.equal(request.headers.host, new URL(receiver.origin).host);
      });
    });

    it("WDS-202 reports status, Retry-After and at most 1,024 bytes of the body", async () => {
      await withReceiver(create, async ({ transport, receiver }) => {
        receiver.script(() => ({ status: 503, headers: { "Retry-After": "120" }, body: "b".repeat(5000) }));
        const result = await transport.send({ ...testRequest, origin: receiver.origin });
        assert.deepEqual(result.observation, {
          kind: "response",
          status: 503,
          complete: true,
          retryAfter: "120",
        });
        assert.equal(Buffer.from(result.responseSample ?? []).toString(), "b".repeat(1_024));
        assert.equal(result.errorMessage, null);
      });
    });

    it("uses one connection for consecutive requests", async () => {
      await withReceiver(create, async ({ transport, receiver }) => {
        for (let sent = 0; sent < 20; sent++)
          await transport.send({ ...testRequest, origin: receiver.origin });
        assert.equal(receiver.connectionCount, 1);
        assert.equal(transport.openSockets(), 1);
      });
    });

    it("never follows a redirect, and reports where it points", async () => {
      const target = await startReceiver();
      await withReceiver(create, async ({ transport, receiver }) => {
        for (const status of [301, 302, 303, 307, 308]) {
          receiver.script(() => ({ status, headers: { Location: target.url("/private") } }));
          const result = await transport.send({ ...testRequest, origin: receiver.origin });
          assert.deepEqual(result.observation, { kind: "response", status, complete: true });
          assert.equal(result.fields.location, target.url("/private"));
        }
        receiver.script(() => ({ status: 308, headers: { Location: `https://x.test/${"a".repeat(5000)}` } }));
        const long = await transport.send({ ...testRequest, origin: receiver.origin });
        assert.equal(long.fields.location?.length, 2048);
        receiver.script(() => ({ status: 201, headers: { Location: "/created" } }));
        const created = await transport.send({ ...testRequest, origin: receiver.origin });
        assert.equal(created.fields.location, undefined);
      });
      assert.equal(target.connectionCount, 0);
      await target.close();
    });

    it("measures at least the time the receiver took", async () => {
      await withReceiver(create, async ({ transport, receiver }) => {
        receiver.script(() => ({ delayMs: 200 }));
        const result = await transport.send({ ...testRequest, origin: receiver.origin });
        assert.ok(result.durationMs >= 195 && result.durationMs < 200 + slackMs, `${result.durationMs} ms`);
      });
    });

    it("returns an error instead of throwing if a request cannot be sent", async () => {
      await withReceiver(create, async ({ transport, receiver }) => {
        const bad = { ...testRequest, origin: receiver.origin };
        for (const request of [
          { ...bad, headers: ["X-Bad", "canary-value\r\nX-Injected: 1"] },
          { ...bad, path: "no slash" },
          { ...bad, origin: "gopher://127.0.0.1" },
        ]) {
          const result = await transport.send(request);
          assert.equal(result.observation.kind, "failure");
          assert.ok(result.observation.kind === "failure" && !result.observation.requestSent);
          assert.equal(result.malformed, true);
          checkMessage(result, undefined);
        }
        assert.equal(receiver.requestCount, 0);
      });
    });

    it("fails requests in flight when it is closed, and all later ones", async () => {
      await withReceiver(create, async ({ transport, receiver }) => {
        receiver.script(() => "hang");
        const pending = transport.send({ ...testRequest, origin: receiver.origin, timeoutMs: 60_000 });
        await receiver.waitForRequests(1);
        await Promise.all([transport.close(), transport.close()]);
        assert.deepEqual((await pending).observation, {
          kind: "failure",
          category: "network",
          requestSent: true,
        });
        const late = await transport.send({ ...testRequest, origin: receiver.origin });
        assert.deepEqual(late.observation, { kind: "failure", category: "network", requestSent: false });
        await receiver.waitUntil(() => receiver.connectionsOpen === 0);
        assert.equal(transport.openSockets(), 0);
      });
    });
  });
}

async function withReceiver(
  create: CreateTransport,
  run: (peers: { transport: Transport; receiver: Receiver }) => Promise<void>,
): Promise<void> {
  const receiver = await startReceiver();
  const transport = create({ policy: loopbackOnly });
  try {
    await run({ transport, receiver });
  } finally {
    await transport.close();
    await receiver.close();
  }
}
