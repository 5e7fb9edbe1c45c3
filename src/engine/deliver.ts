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
 * One attempt, from a leased delivery to its settlement: build the request, send it, settle what came back. No database
 * work happens here.
 */
export function createDeliver(options: DeliverOptions): (flight: Flight) => void {
  return (flight) => {
    deliver(flight, options).catch((error: unknown) => {
      options.log.error(
        { err: String(error), deliveryId: flight.delivery.id },
        "an attempt could not be made",
      );
      options.settle(flight, notSent);
    });
  };
}

async function deliver(flight: Flight, options: DeliverOptions): Promise<void> {
  const request = buildRequest(flight, options.clock.now());
  const result = await options.transport.send(request);
  options.settle(flight, result);
}

/**
 * The message of this attempt. Id, key and body are those of every attempt of the event; timestamp and signatures are
 * fresh (TS16-34, TS16-69, EDS-9.4-3). The keys are those in force now, so a revoked key never signs a retry.
 */
function buildRequest(flight: Flight, now: number): OutboundRequest {
  const { delivery, endpoint } = flight;
  const { config } = endpoint;
  const body = delivery.body ?? noBody;
  const timestampSeconds = Math.floor(now / 1000);
  const headers = [
    "Content-Type",
    delivery.contentType,
    "Webhook-ID",
    delivery.eventId,
    "Webhook-Timestamp",
    String(timestampSeconds),
    "Webhook-Signature",
    config.signer({ messageId: delivery.eventId, timestampSeconds, body }),
    "Idempotency-Key",
    `"${delivery.eventId}"`,
    ...config.fixedHeaders,
  ];
  return {
    method: "POST",
    origin: config.origin,
    path: config.path,
    headers,
    body,
    timeoutMs: attemptTimeoutMs(config.policy, delivery.progress.attemptCount + 1),
    http2: false,
    clientCertificate: null,
  };
}

/** A mistake of ours, such as a key that cannot sign: counts as a failed attempt, so that it ends some day. */
const notSent: TransportResult = {
  observation: { kind: "failure", category: "network", requestSent: false },
  responseSample: null,
  fields: noResponseFields,
  errorMessage: "the request could not be built",
  durationMs: 0,
};

const noBody = new Uint8Array();
