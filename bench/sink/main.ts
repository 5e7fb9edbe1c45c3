// The receiver of every bench: `node bench/sink/main.ts`, driven by sink.ts.

import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { serveCalls } from "../process/serve-calls.ts";
import { Conversation } from "./conversation.ts";
import { SinkCounters } from "./sink-counters.ts";

const counters = new SinkCounters();
const server = createServer({ noDelay: true }, (socket) => new Conversation(socket, counters));
const pem = (name: string): string =>
  readFileSync(new URL(`certificate/${name}.pem`, import.meta.url), "utf8");
const tlsServer = createTlsServer({ cert: pem("certificate"), key: pem("key"), noDelay: true }, (socket) => {
  counters.handshakes += 1;
  if (socket.isSessionReused()) counters.resumed += 1;
  return new Conversation(socket, counters);
});

/** Both take their port on the first call. */
async function portOf(one: Server): Promise<number> {
  if (!one.listening)
    await new Promise<void>((resolve) => {
      one.listen({ port: 0, host: "127.0.0.1", backlog: 1024 }, resolve);
    });
  return (one.address() as AddressInfo).port;
}

serveCalls({
  port: () => portOf(server),
  tlsPort: () => portOf(tlsServer),
  reset: () => counters.reset(),
  record: () => {
    counters.recording = true;
  },
  turn: () => {
    counters.turned = true;
  },
  when: (count: number) => counters.when(count),
  seen: () => ({ ok: counters.ok, hanging: counters.hanging, slow: counters.slow, failed: counters.failed }),
  handshakes: () => ({ all: counters.handshakes, resumed: counters.resumed }),
  arrivals: () => counters.arrivals(),
});
