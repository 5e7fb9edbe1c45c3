// The receiver of every bench: `node bench/sink/main.ts`, driven by sink.ts.

import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { serveCalls } from "../process/serve-calls.ts";
import { Conversation } from "./conversation.ts";
import { Tally } from "./tally.ts";

const tally = new Tally();
const server = createServer({ noDelay: true }, (socket) => new Conversation(socket, tally));
const listening = new Promise<void>((resolve) => {
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1024 }, resolve);
});

serveCalls({
  port: async () => {
    await listening;
    return (server.address() as AddressInfo).port;
  },
  reset: () => tally.reset(),
  record: () => {
    tally.recording = true;
  },
  when: (count: number) => tally.when(count),
  seen: () => ({ ok: tally.ok, hanging: tally.hanging, slow: tally.slow, failed: tally.failed }),
  arrivals: () => tally.arrivals(),
});
