import { withRelayedPath } from "../../core/gateway/relayed.ts";
import { errorOf } from "../../core/thrown.ts";
import { isTraced } from "../../core/attempt-trace.ts";
import { attemptTimeoutMs } from "../../core/delivery-policy.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { OutboundRequest, Shortage, Transport, TransportResult } from "../../ports/transport.ts";
import { notSent } from "./attempt-record.ts";
import type { Flight } from "./flight.ts";
import type { Flights } from "./flights.ts";
import { type Addressee, addresseeOf } from "../message/addressee.ts";
import type { Settler } from "./settle.ts";
import type { Shortages } from "./shortages.ts";

export interface AttemptsOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly flights: Pick<Flights, "add" | "end" | "settled">;
  readonly settler: Pick<Settler, "attempted" | "stopped" | "notComposed">;
  readonly shortages: Pick<Shortages, "met">;
}

/** The result of a request, or why none was made. An error is a bug in this program. */
type Ending = TransportResult | Exclude<Addressee, "right"> | Error;

/**
 * One attempt, from a leased delivery to its settlement: gets an access token if needed, builds and sends the
 * request, and settles the result. No database work happens here.
 *
 * This is the only place where events leave the system, so it checks that the event and the webhook belong together.
 */
export class Attempts {
  readonly #options: AttemptsOptions;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** Never calls the dispatcher back synchronously. */
  start(flight: Flight): void {
    this.#options.flights.add(flight);
    this.#send(flight)
      .then((ending) => this.#settle(flight, ending))
      .catch((error: unknown) => this.#settle(flight, errorOf(error)));
  }

  async #send(flight: Flight): Promise<Ending> {
    const { transport, clock } = this.#options;
    const { tokens } = flight.endpoint;
    if (tokens !== null) {
      const token = await tokens.token();
      if (token.kind === "failed") return { ...notSent(token.detail), ...shortageIn(token) };
      flight.accessToken = token.accessToken;
    }
    // Without a token this does not wait, so the whole message, including its time, follows from stored data.
    const request = buildRequest(flight, tokens === null ? flight.startedAt : clock.now());
    return typeof request === "string" ? request : transport.send(request);
  }

  #settle(flight: Flight, ending: Ending): void {
    const { flights, settler, shortages } = this.#options;
    if (!flights.end(flight)) return;
    if (typeof ending === "string") settler.stopped(flight, ending);
    else if (ending instanceof Error) settler.notComposed(flight, ending);
    else if (ending.malformed === true) settler.notComposed(flight, new Error(ending.errorMessage ?? ""));
    else if (ending.shortage !== undefined) shortages.met(flight, ending.shortage);
    else settler.attempted(flight, ending);
    flights.settled();
  }
}

/** Uses the current keys, so that a revoked key never signs a retry (TS16-69). */
function buildRequest(
  { delivery, endpoint, accessToken }: Flight,
  now: number,
): OutboundRequest | Exclude<Addressee, "right"> {
  const { config } = endpoint;
  const addressee = addresseeOf(delivery, config.webhook);
  if (addressee !== "right") return addressee;
  const { headers, body } = config.compose(delivery, now);
  if (accessToken !== null) headers.push("Authorization", `Bearer ${accessToken}`);
  return {
    method: "POST",
    origin: config.origin,
    path: withRelayedPath(config.path, delivery.relayed),
    headers,
    body,
    timeoutMs: attemptTimeoutMs(config.policy, delivery.progress.attemptCount + 1),
    http2: config.http2,
    clientCertificate: config.clientCertificate,
    traced: isTraced(delivery.id),
  };
}

function shortageIn({ shortage }: { readonly shortage?: Shortage }): Pick<TransportResult, "shortage"> {
  return shortage === undefined ? {} : { shortage };
}
