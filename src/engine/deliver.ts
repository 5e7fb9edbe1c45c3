import { attemptTimeoutMs } from "../core/delivery-policy.ts";
import type { Clock } from "../ports/clock.ts";
import type { Logger } from "../ports/telemetry.ts";
import { noResponseFields } from "../ports/transport.ts";
import type { OutboundRequest, Transport, TransportResult } from "../ports/transport.ts";
import type { Flight } from "./dispatcher.ts";

export interface DeliverOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Settles the attempt; see settle.ts. */
  readonly settle: (flight: Flight, result: TransportResult) => void;
  readonly log: Logger;
}

/**
 * One attempt, from a leased delivery to its settlement: get the access token where there is one, build the request, send
 * it, settle what came back. No database work happens here.
 */
export function createDeliver(options: DeliverOptions): (flight: Flight) => void {
  return (flight) => {
    deliver(flight, options).catch((error: unknown) => {
      options.log.error(
        { err: String(error), deliveryId: flight.delivery.id },
        "an attempt could not be made",
      );
      options.settle(flight, notSent("the request could not be built"));
    });
  };
}

async function deliver(flight: Flight, options: DeliverOptions): Promise<void> {
  const { tokens } = flight.endpoint;
  if (tokens !== null) {
    const token = await tokens.token();
    if (token.kind === "failed") {
      options.settle(flight, notSent(token.detail));
      return;
    }
    flight.accessToken = token.accessToken;
  }
  const result = await options.transport.send(buildRequest(flight, options.clock.now()));
  options.settle(flight, result);
}

/** The keys are those in force now, so a revoked key never signs a retry (TS16-69). */
function buildRequest({ delivery, endpoint, accessToken }: Flight, now: number): OutboundRequest {
  const { config } = endpoint;
  const { headers, body } = config.compose(delivery, now);
  if (accessToken !== null) headers.push("Authorization", `Bearer ${accessToken}`);
  return {
    method: "POST",
    origin: config.origin,
    path: config.path,
    headers,
    body,
    timeoutMs: attemptTimeoutMs(config.policy, delivery.progress.attemptCount + 1),
    http2: config.http2,
    clientCertificate: config.clientCertificate,
  };
}

/** No request left: counts as a failed attempt, so that it ends some day. */
function notSent(errorMessage: string): TransportResult {
  return {
    observation: { kind: "failure", category: "network", requestSent: false },
    responseSample: null,
    fields: noResponseFields,
    errorMessage,
    durationMs: 0,
  };
}
