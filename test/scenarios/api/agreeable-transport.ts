import { noResponseFields } from "../../../src/ports/transport.ts";
import type { Transport } from "../../../src/ports/transport.ts";

/** A network on which every receiver says yes. */
export const agreeable: Transport = {
  send: async () => ({
    observation: { kind: "response", status: 200, complete: true },
    responseSample: null,
    fields: noResponseFields,
    errorMessage: null,
    durationMs: 1,
  }),
  openSockets: () => 0,
  close: async () => {},
};
