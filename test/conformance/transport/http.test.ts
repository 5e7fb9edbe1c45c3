import type { NameSource } from "../../../src/ports/name-lookup.ts";
import type { Transport } from "../../../src/ports/transport.ts";
import { systemClock as clock } from "../../../src/system/clock.ts";
import { createHostNames } from "../../../src/system/host-names.ts";
import { createHttpTransport } from "../../../src/transport/http/http-transport.ts";
import { answerSuite } from "./answers.suite.ts";
import { clientCertificateSuite } from "./client-certificates.suite.ts";
import { earlyDataSuite } from "./early-data.suite.ts";
import { egressSuite } from "./egress.suite.ts";
import { hostileSuite } from "./hostile-rows.suite.ts";
import { http2Suite } from "./http2.suite.ts";
import { shortageSuite } from "./shortages.suite.ts";
import { type TransportSetup, transportSuite } from "./transport.suite.ts";
import { tlsSuite } from "./tls.suite.ts";
import { traceSuite } from "./traces.suite.ts";

function create(setup: TransportSetup): Transport {
  return createHttpTransport({
    addressPolicy: setup.policy,
    clock,
    socketsMax: 20,
    idleSocketMs: 4000,
    dns: setup.names === undefined ? createHostNames() : namesOf(setup.names),
    ...(setup.ca === undefined ? {} : { tls: { ca: setup.ca } }),
  });
}

function namesOf(names: NonNullable<TransportSetup["names"]>): NameSource {
  return {
    resolve: async (hostname) => {
      const addresses = names[hostname]?.();
      if (addresses === undefined) throw Object.assign(new Error("not found"), { code: "ENOTFOUND" });
      return addresses.map((address) => ({ address, ttlMs: 0 }));
    },
    close: () => undefined,
  };
}

transportSuite("http", create);
hostileSuite("http", create);
http2Suite("http", create);
egressSuite("http", create);
tlsSuite("http", create);
answerSuite("http", create);
traceSuite("http", create);
clientCertificateSuite("http", create);
earlyDataSuite("http", create);
shortageSuite("http", create);
