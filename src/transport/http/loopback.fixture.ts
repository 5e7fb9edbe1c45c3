/**
 * A transport that may connect to this machine, receivers on this machine, and a function that sends one request. All
 * are closed after the test.
 */
import type { TestContext } from "node:test";
import { type Receiver, type ReceiverOptions, startReceiver } from "../../../test/peers/receiver.ts";
import { createAddressPolicy } from "../../domain/egress/address-policy.ts";
import type { Transport, TransportResult } from "../../ports/transport.ts";
import { systemClock as clock } from "../../system/clock.ts";
import { createHostNames } from "../../system/host-names.ts";
import { createHttpTransport, type HttpTransportOptions } from "./http-transport.ts";

const addressPolicy = createAddressPolicy([], true);

export function start(t: TestContext, options: Partial<HttpTransportOptions> = {}): Transport {
  const transport = createHttpTransport({
    addressPolicy,
    clock,
    dns: createHostNames(),
    socketsMax: 20,
    idleSocketMs: 4000,
    ...options,
  });
  t.after(() => transport.close());
  return transport;
}

export async function receive(t: TestContext, options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = await startReceiver(options);
  t.after(() => receiver.close());
  return receiver;
}

export function send(transport: Transport, origin: string, timeoutMs = 5000): Promise<TransportResult> {
  return transport.send({
    method: "POST",
    origin,
    path: "/",
    headers: [],
    body: Buffer.from("{}"),
    timeoutMs,
    http2: false,
    clientCertificate: null,
  });
}

/** The status of the response, or the error message if no response arrived. */
export function statusOf(result: TransportResult): number | string {
  return result.observation.kind === "response" ? result.observation.status : (result.errorMessage ?? "");
}
