import { EventEmitter } from "node:events";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { Transport } from "../../../src/ports/transport.ts";
import { systemClock as clock } from "../../../src/system/clock.ts";
import type { SenderData } from "../../../src/transport/threads/sender-messages.ts";
import { createThreadsTransport } from "../../../src/transport/threads/threads-transport.ts";
import { answerSuite } from "./answers.suite.ts";
import { clientCertificateSuite } from "./client-certificates.suite.ts";
import { earlyDataSuite } from "./early-data.suite.ts";
import { egressSuite } from "./egress.suite.ts";
import { hostileSuite } from "./hostile-rows.suite.ts";
import { http2Suite } from "./http2.suite.ts";
import { answerQuestions } from "./questions.fixture.ts";
import type { HostedSender, HostedSettings } from "./sender-host.fixture.ts";
import { shortageSuite } from "./shortages.suite.ts";
import { type TransportSetup, transportSuite } from "./transport.suite.ts";
import { tlsSuite } from "./tls.suite.ts";
import { traceSuite } from "./traces.suite.ts";

function create({ policy, names, ca }: TransportSetup): Transport {
  const line = answerQuestions({
    judge: (address) => policy.judge(address),
    resolve: (hostname) => names?.[hostname]?.() ?? null,
  });
  const transport = createThreadsTransport({
    threads: 1,
    start: (data) => new HostedWorker(data),
    settings: { line: line.settings, ca, hasNames: names !== undefined } satisfies HostedSettings,
    clock,
    onLost: ({ cause }) => {
      throw new Error(`a sender ended: ${cause}`);
    },
  });
  return {
    send: (request) => transport.send(request),
    openSockets: () => transport.openSockets(),
    close: async () => {
      await transport.close();
      line.close();
    },
  };
}

const host = new Worker(new URL("sender-host.fixture.ts", import.meta.url));
host.unref();

/** Shares the host's thread, but behaves like a separate worker thread. */
class HostedWorker extends EventEmitter {
  readonly #port: MessagePort;

  constructor(data: SenderData) {
    super();
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.on("message", (message) => this.emit("message", message));
    const hosted: HostedSender = { port: port2, data };
    host.postMessage(hosted, [port2]);
  }

  postMessage(message: unknown, transfer: ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  unref(): void {
    this.#port.unref();
  }

  terminate(): Promise<number> {
    this.#port.close();
    return Promise.resolve(0);
  }
}

transportSuite("threads", create);
hostileSuite("threads", create);
http2Suite("threads", create);
egressSuite("threads", create);
tlsSuite("threads", create);
answerSuite("threads", create);
traceSuite("threads", create);
clientCertificateSuite("threads", create);
earlyDataSuite("threads", create);
shortageSuite("threads", create);
