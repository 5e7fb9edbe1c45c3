// A sender thread that ends in the way selected by the request path. Requests with other paths get a response without
// network access.

import { noResponseFields, type OutboundRequest, type TransportResult } from "../../ports/transport.ts";
import { serveSender } from "./serve-sender.ts";

const answered: TransportResult = {
  observation: { kind: "response", status: 200, complete: true },
  responseSample: null,
  fields: noResponseFields,
  errorMessage: null,
  durationMs: 1,
};

const orders: Readonly<Record<string, () => unknown>> = {
  "/throws": () => setImmediate(() => thrown("canary-secret")),
  "/hangs": () => {
    for (;;);
  },
  "/fills": () => {
    const kept: number[][] = [];
    for (;;) kept.push(new Array<number>(1_000_000).fill(0));
  },
};

serveSender((settings: "works" | "broken") => {
  if (settings === "broken") thrown("canary-secret");
  return {
    send: (request: OutboundRequest) => {
      const order = orders[request.path];
      if (order === undefined) return Promise.resolve(answered);
      order();
      return new Promise(() => undefined);
    },
    openSockets: () => 0,
    close: () => Promise.resolve(),
  };
});

function thrown(message: string): never {
  throw new Error(message);
}
