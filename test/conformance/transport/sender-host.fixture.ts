// The thread of the conformance suites. It serves one transport after another, because starting a thread for each of a
// hundred transports costs more than all other steps.

import { type MessagePort, parentPort } from "node:worker_threads";
import type { AddressJudgement } from "../../../src/domain/egress/address-policy.ts";
import type { NameSource } from "../../../src/ports/name-lookup.ts";
import type { Transport } from "../../../src/ports/transport.ts";
import { systemClock as clock } from "../../../src/system/clock.ts";
import { createHostNames } from "../../../src/system/host-names.ts";
import { createHttpTransport } from "../../../src/transport/http/http-transport.ts";
import type { SenderData } from "../../../src/transport/threads/sender-messages.ts";
import { serveOn } from "../../../src/transport/threads/serve-sender.ts";
import { openLine, type QuestionLine } from "./questions.fixture.ts";

export interface HostedSender {
  readonly port: MessagePort;
  readonly data: SenderData;
}

/** The real transport, with the test's address policy and name lookup. */
export interface HostedSettings {
  readonly line: QuestionLine;
  readonly ca: string | undefined;
  readonly hasNames: boolean;
}

parentPort?.on("message", ({ port, data }: HostedSender) => serveOn(port, data, open));

function open({ line, ca, hasNames }: HostedSettings, onOpenSockets: (count: number) => void): Transport {
  const ask = openLine(line);
  const dns: NameSource = {
    resolve: async (argument) => {
      const addresses = ask({ name: "resolve", argument }) as readonly string[] | null;
      if (addresses === null) throw Object.assign(new Error("not found"), { code: "ENOTFOUND" });
      return addresses.map((address) => ({ address, ttlMs: 0 }));
    },
    close: () => undefined,
  };
  return createHttpTransport({
    addressPolicy: { judge: (argument) => ask({ name: "judge", argument }) as AddressJudgement },
    clock,
    socketsMax: 20,
    idleSocketMs: 4000,
    onOpenSockets,
    dns: hasNames ? dns : createHostNames(),
    ...(ca !== undefined && { tls: { ca } }),
  });
}
