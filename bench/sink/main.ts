// The receiver of every benchmark: `node bench/sink/main.ts`, started by sink.ts.

import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { machineMs, serveCalls } from "../process/serve-calls.ts";

/** A caller that waits for the n-th request. `reached` gets its arrival time according to the sink's clock. */
interface Target {
  readonly count: number;
  readonly reached: (atMs: number) => void;
}

/** What the sink has received since the last reset. */
class SinkCounters {
  ok = 0;
  hanging = 0;
  slow = 0;
  failed = 0;
  /** Number of TLS handshakes, including those that resumed a session. */
  handshakes = 0;
  resumed = 0;
  recording = false;
  turned = false;
  #ids: string[] = [];
  #times: number[] = [];
  #targets: Target[] = [];
  #nextTarget = Number.POSITIVE_INFINITY;

  arrived(id: string | null): void {
    this.ok += 1;
    if (id !== null) this.noted(id);
    if (this.ok >= this.#nextTarget) this.#reachTargets();
  }

  noted(id: string): void {
    this.#ids.push(id);
    this.#times.push(machineMs());
  }

  when(count: number): Promise<number> {
    if (this.ok >= count) return Promise.resolve(machineMs());
    return new Promise((reached) => {
      this.#targets.push({ count, reached });
      this.#nextTarget = Math.min(this.#nextTarget, count);
    });
  }

  reset(): void {
    this.ok = 0;
    this.hanging = 0;
    this.slow = 0;
    this.failed = 0;
    this.handshakes = 0;
    this.resumed = 0;
    this.recording = false;
    this.turned = false;
    this.#ids = [];
    this.#times = [];
  }

  arrivals(): { readonly ids: readonly string[]; readonly atMs: readonly number[] } {
    return { ids: this.#ids, atMs: this.#times };
  }

  #reachTargets(): void {
    const nowMs = machineMs();
    const left = this.#targets.filter((target) => target.count > this.ok);
    for (const target of this.#targets) if (target.count <= this.ok) target.reached(nowMs);
    this.#targets = left;
    this.#nextTarget = Math.min(...left.map((target) => target.count), Number.POSITIVE_INFINITY);
  }
}

const headEnd = Buffer.from("\r\n\r\n");
/** The spelling that undici uses. Requests with other spellings take the slow path. */
const lengthNeedle = Buffer.from("ontent-length: ");
const idNeedle = Buffer.from("Webhook-ID: ");
const idBytes = 36;
const answerText = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const lastAnswer = Buffer.from("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
const failureAnswer = Buffer.from("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n");
/** Responses to one or more requests that arrived in one read. */
const answers = Array.from({ length: 9 }, (_, count) => Buffer.from(answerText.repeat(count)));

/**
 * Offset of the byte that selects the behaviour, after the six bytes `POST /`. Paths: `/ok/…`, `/hang/…`, `/slow/50/…`,
 * `/fail/…`, `/close/…` (closes the connection after its response) and `/turn/…` (responds until `turn` is called and
 * hangs afterwards).
 */
const behaviourOffset = 6;
const okByte = "o".charCodeAt(0);
const hangByte = "h".charCodeAt(0);
const slowByte = "s".charCodeAt(0);
const closeByte = "c".charCodeAt(0);
const turnByte = "t".charCodeAt(0);

/**
 * One connection of the sink. Reads HTTP/1.1 with Content-Length and nothing else, at the lowest cost that Node allows,
 * because the sink must never be the bottleneck of a contestant.
 */
class Conversation {
  readonly #socket: Socket;
  readonly #counters: SinkCounters;
  /** Number of bytes of the current body that have not arrived yet. */
  #missing = 0;
  /** The beginning of a request head that has not arrived completely. */
  #held: Buffer | null = null;
  #pendingOk = 0;

  constructor(socket: Socket, counters: SinkCounters) {
    this.#socket = socket;
    this.#counters = counters;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", () => socket.destroy());
  }

  #read(arrived: Buffer): void {
    let chunk = arrived;
    if (this.#held !== null) {
      chunk = Buffer.concat([this.#held, arrived]);
      this.#held = null;
    }
    let offset = 0;
    if (this.#missing > 0) {
      offset = Math.min(this.#missing, chunk.length);
      this.#missing -= offset;
    }
    while (offset < chunk.length) {
      const end = chunk.indexOf(headEnd, offset);
      if (end < 0) {
        this.#held = chunk.subarray(offset);
        break;
      }
      const next = end + headEnd.length + bodyBytes(chunk, offset, end);
      this.#request(chunk, offset);
      this.#missing = Math.max(0, next - chunk.length);
      offset = next;
    }
    if (this.#missing === 0) this.#flush();
  }

  /** Counts a request when its head has arrived. The response is sent when the body has arrived. */
  #request(chunk: Buffer, offset: number): void {
    const behaviour = chunk[offset + behaviourOffset];
    if (behaviour === okByte) {
      this.#pendingOk += 1;
      this.#counters.arrived(this.#counters.recording ? idOf(chunk, offset) : null);
    } else if (behaviour === closeByte) {
      this.#counters.arrived(this.#counters.recording ? idOf(chunk, offset) : null);
      this.#socket.end(lastAnswer);
    } else if (behaviour === hangByte) {
      this.#counters.hanging += 1;
    } else if (behaviour === turnByte) {
      if (this.#counters.turned) this.#counters.hanging += 1;
      else this.#socket.write(answers[1] as Buffer);
    } else if (behaviour === slowByte) {
      this.#counters.slow += 1;
      if (this.#counters.recording) this.#counters.noted(idOf(chunk, offset));
      const delayMs = Number.parseInt(text(chunk, offset + "POST /slow/".length, offset + 20), 10);
      setTimeout(() => this.#socket.write(answers[1] as Buffer), delayMs);
    } else {
      this.#counters.failed += 1;
      this.#socket.write(failureAnswer);
    }
  }

  #flush(): void {
    if (this.#pendingOk === 0) return;
    const answer = answers[this.#pendingOk] ?? Buffer.from(answerText.repeat(this.#pendingOk));
    this.#pendingOk = 0;
    this.#socket.write(answer);
  }
}

function bodyBytes(chunk: Buffer, offset: number, end: number): number {
  const at = chunk.indexOf(lengthNeedle, offset);
  if (at >= 0 && at < end) {
    let length = 0;
    for (let index = at + lengthNeedle.length; index < end; index += 1) {
      const digit = (chunk[index] ?? 0) - 48;
      if (digit < 0 || digit > 9) break;
      length = length * 10 + digit;
    }
    return length;
  }
  const found = /^content-length:\s*(\d+)/im.exec(text(chunk, offset, end));
  return Number(found?.[1] ?? 0);
}

function idOf(chunk: Buffer, offset: number): string {
  const at = chunk.indexOf(idNeedle, offset);
  return at < 0 ? "" : text(chunk, at + idNeedle.length, at + idNeedle.length + idBytes);
}

function text(chunk: Buffer, from: number, to: number): string {
  return chunk.toString("latin1", from, to);
}

const counters = new SinkCounters();
const server = createServer({ noDelay: true }, (socket) => new Conversation(socket, counters));
const pem = (name: string): string =>
  readFileSync(new URL(`certificate/${name}.pem`, import.meta.url), "utf8");
const tlsServer = createTlsServer({ cert: pem("certificate"), key: pem("key"), noDelay: true }, (socket) => {
  counters.handshakes += 1;
  if (socket.isSessionReused()) counters.resumed += 1;
  return new Conversation(socket, counters);
});

/** Both servers get their port on the first call. */
async function portOf(one: Server): Promise<number> {
  if (!one.listening)
    await new Promise<void>((resolve) => {
      one.listen({ port: 0, host: "127.0.0.1", backlog: 1024 }, resolve);
    });
  return (one.address() as AddressInfo).port;
}

const calls = serveCalls({
  port: () => portOf(server),
  tlsPort: () => portOf(tlsServer),
  reset: () => counters.reset(),
  /** Records the time and the Webhook-ID of each request from now on. */
  record: () => {
    counters.recording = true;
  },
  /** Makes `/turn/` paths hang from now on. */
  turn: () => {
    counters.turned = true;
  },
  /** Returns the machine's clock reading (ms) when the n-th request to an `/ok/` path arrived. */
  when: (count: number) => counters.when(count),
  seen: () => ({ ok: counters.ok, hanging: counters.hanging, slow: counters.slow, failed: counters.failed }),
  /** TLS handshakes since the last reset. */
  handshakes: () => ({ all: counters.handshakes, resumed: counters.resumed }),
  arrivals: () => counters.arrivals(),
});
export type SinkCalls = typeof calls;
