// The receiver of every bench: `node bench/sink/main.ts`, driven by sink.ts.

import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { serveCalls } from "../process/serve-calls.ts";
import { Conversation } from "./conversation.ts";
import { SinkCounters } from "./sink-counters.ts";

const counters = new SinkCounters();
const server = createServer({ noDelay: true }, (socket) => new Conversation(socket, counters));
const listening = new Promise<void>((resolve) => {
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1024 }, resolve);
});

serveCalls({
  port: async () => {
    await listening;
    return (server.address() as AddressInfo).port;
  },
  reset: () => counters.reset(),
  record: () => {
    counters.recording = true;
  },
  turn: () => {
    counters.turned = true;
  },
  when: (count: number) => counters.when(count),
  seen: () => ({ ok: counters.ok, hanging: counters.hanging, slow: counters.slow, failed: counters.failed }),
  arrivals: () => counters.arrivals(),
});
