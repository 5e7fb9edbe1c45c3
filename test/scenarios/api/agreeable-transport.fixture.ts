import { noResponseFields } from "../../../src/ports/transport.ts";
import type { Transport } from "../../../src/ports/transport.ts";

/** A network on which every receiver accepts, except on paths that define a different response. */
export const agreeable: Transport = {
  send: async ({ path }) => ({
    observation: { kind: "response", status: path === refusingPath ? 422 : 200, complete: true },
    responseSample: path === refusingPath ? Buffer.from("order 4711 is not known") : null,
    fields: noResponseFields,
    errorMessage: null,
    durationMs: 1,
  }),
  openSockets: () => 0,
  close: async () => {},
};

export const refusingPath = "/refuses";
