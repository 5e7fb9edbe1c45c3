import { isTraced } from "../../domain/attempt-trace.ts";
import type { AttemptRecord, RequestDifference } from "../../domain/delivery.ts";
import { attemptTimeoutMs } from "../../domain/delivery-policy.ts";
import { PosthornError } from "../../domain/errors.ts";
import { mask, maskedField, maskedParameters } from "../../domain/http/request-headers.ts";
import type { WaitingSlot } from "../../domain/request-slots.ts";
import { errorOf } from "../../domain/thrown.ts";
import type { Webhook } from "../../domain/webhook.ts";
import { withRelayedPath } from "../../features/gateway/relayed.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { ClaimedDelivery, Lease } from "../../ports/store/deliveries.ts";
import type { StoredDelivery, StoredEvent } from "../../ports/store/history.ts";
import type { OutboundRequest, TransportResult } from "../../ports/transport.ts";
import { maskSecrets } from "../credentials/secret-mask.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { EndpointConfig } from "../endpoint/endpoint-config.ts";
import type { Pace } from "../endpoint/endpoint-states.ts";
import type { Share } from "../endpoint/fair-shares.ts";
import type { Host } from "../endpoint/host-places.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { EngineOptions } from "../engine-options.ts";
import { notSent } from "./attempt-record.ts";
import type { Shortages } from "./own-faults.ts";
import type { Settler } from "./settle.ts";

/** A delivery in flight. Created by the dispatcher, settled by `Settler`, and returned to its listener. */
export interface Flight {
  readonly delivery: ClaimedDelivery;
  readonly lane: Lane;
  readonly endpoint: Endpoint;
  readonly startedAt: number;
  /** The webhook as it was when the attempt started. */
  readonly webhook: Webhook;
  /** The lease of the probe if the circuit is half open. */
  readonly probe: number | null;
  readonly place: Place;
  /** The access token sent with the request; null if the webhook has no tokens. */
  accessToken: string | null;
}

/** The resources that a request occupies until it ends. Managed by capacity.ts. */
export interface Place {
  readonly endpoint: Endpoint;
  /** On the monotonic clock. */
  readonly startedMs: number;
  readonly bytes: number;
  /** The request's share of the active requests. */
  share: Share;
  /** Null if hosts have no limit, or once the request counts as waiting. */
  host: Host | null;
  readonly isCautious: boolean;
  /** Null while the request is active. */
  waiting: WaitingSlot | null;
  /** Whether the request has been in flight for more than five seconds. */
  hasHung: boolean;
}

/**
 * Receives the ends of flights. Implemented by the dispatcher, which created the flights and decides what to send next.
 */
export interface FlightListener {
  /**
   * The request has ended, and its request slot is free. Called before settling. `isResponse`: whether the receiver
   * responded.
   */
  answered(flight: Flight, pace: Pace, isResponse: boolean): void;
  /** The settlement is committed, or the lease was lost; `retryAt` is null if no attempt follows. */
  settled(flight: Flight, retryAt: number | null): void;
  /**
   * The settlement was not written. The current lease owner decides how the delivery continues; without an owner, its
   * lease expires.
   */
  lost(flight: Pick<Flight, "lane">): void;
  /** A delivery was settled without a request. */
  dropped(lane: Lane): void;
  /**
   * No request was sent, for a reason that does not concern the receiver. The delivery is released, and its endpoint
   * pauses until the given time.
   */
  postponed(flight: Flight, until: number): void;
  /** Called when requests can be sent again. */
  schedulePump(): void;
}

/** The deliveries in flight, by delivery ID. */
export class Flights {
  readonly #clock: Clock;
  readonly #open = new Map<string, Flight>();
  #abandoned = false;
  #quiet: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(deliveryId: string): boolean {
    return this.#open.has(deliveryId);
  }

  /** The IDs of the deliveries in flight, by endpoint. */
  byEndpoint(): ReadonlyMap<Endpoint, readonly string[]> {
    const flying = new Map<Endpoint, string[]>();
    for (const { endpoint, delivery } of this.#open.values())
      flying.set(endpoint, [...(flying.get(endpoint) ?? []), delivery.id]);
    return flying;
  }

  add(flight: Flight): void {
    this.#open.set(flight.delivery.id, flight);
  }

  /**
   * Records that the request has ended. Returns false if the lease was released, so the request must not be settled.
   */
  end(flight: Flight): boolean {
    if (this.#abandoned) return false;
    // If the clock jumped past the lease, another flight of the same delivery may have replaced this one.
    if (this.#open.get(flight.delivery.id) === flight) this.#open.delete(flight.delivery.id);
    return true;
  }

  /** Called after an ended flight was settled. Wakes `stop` if it is waiting. */
  settled(): void {
    if (this.#open.size === 0) this.#quiet?.();
  }

  /** Waits until no delivery is in flight, or until the grace time ends. */
  async wait(graceMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer: Timer = this.#clock.schedule(graceMs, resolve);
      this.#quiet = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#quiet = null;
  }

  /**
   * Called when the grace time is over. Releases the deliveries in flight without settling them; they will be sent
   * again (WDS-196).
   */
  abandon(): readonly Lease[] {
    const leases = [...this.#open.values()].map((flight) => flight.delivery.lease);
    this.#open.clear();
    this.#abandoned = true;
    return leases;
  }
}

/**
 * Whether a delivery may be sent to the webhook. `foreign`: the event and the stored webhook belong to different
 * tenants. `unclear`: the stored data contradicts the state of this process, which may be outdated.
 */
type Addressee = "right" | "foreign" | "unclear";

/**
 * Compares the tenants of a delivery, its event and its webhook. The stored values come from separate rows. The webhook
 * is the one that provides the URL and the keys of the request. So a wrong lane or a wrong ID cannot match both.
 */
function addresseeOf(
  delivery: Pick<ClaimedDelivery, "webhookId" | "webhookTenantId" | "tenantId">,
  webhook: Pick<Webhook, "id" | "tenantId">,
): Addressee {
  const { webhookId, webhookTenantId, tenantId } = delivery;
  if (webhookTenantId !== null && webhookTenantId !== tenantId) return "foreign";
  const agree =
    webhookId === webhook.id && webhookTenantId === webhook.tenantId && tenantId === webhook.tenantId;
  return agree ? "right" : "unclear";
}

/** The result of a request, or why no request was sent. An error is a bug in this program. */
type Ending = TransportResult | Exclude<Addressee, "right"> | Error;

/**
 * One attempt, from a leased delivery to its settlement: fetches an access token if needed, builds and sends the
 * request, and settles the result. It does not access the database.
 *
 * This is the only place where events leave the system, so it checks that the event and the webhook belong together.
 */
export class Attempts {
  readonly #options: Pick<EngineOptions, "transport" | "clock">;
  readonly #flights: Pick<Flights, "add" | "end" | "settled">;
  readonly #settler: Pick<Settler, "attempted" | "stopped" | "notComposed">;
  readonly #shortages: Pick<Shortages, "met">;

  constructor(
    options: Pick<EngineOptions, "transport" | "clock">,
    flights: Pick<Flights, "add" | "end" | "settled">,
    settler: Pick<Settler, "attempted" | "stopped" | "notComposed">,
    shortages: Pick<Shortages, "met">,
  ) {
    this.#options = options;
    this.#flights = flights;
    this.#settler = settler;
    this.#shortages = shortages;
  }

  /** Starts the attempt. Never calls back into the dispatcher synchronously. */
  start(flight: Flight): void {
    this.#flights.add(flight);
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
    // An attempt without a token does not wait here, so the whole message, including its timestamp, follows from stored
    // data.
    const request = buildRequest(flight, tokens === null ? flight.startedAt : clock.now());
    return typeof request === "string" ? request : transport.send(request);
  }

  #settle(flight: Flight, ending: Ending): void {
    const settler = this.#settler;
    if (!this.#flights.end(flight)) return;
    if (typeof ending === "string") settler.stopped(flight, ending);
    else if (ending instanceof Error) settler.notComposed(flight, ending);
    else if (ending.malformed === true) settler.notComposed(flight, new Error(ending.errorMessage ?? ""));
    else if (ending.shortage !== undefined) this.#shortages.met(flight, ending.shortage);
    else settler.attempted(flight, ending);
    this.#flights.settled();
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

function shortageIn({ shortage }: Pick<TransportResult, "shortage">): Pick<TransportResult, "shortage"> {
  return shortage === undefined ? {} : { shortage };
}

/** A request rebuilt from stored data. It contains no credentials. */
export interface RenderedRequest {
  readonly method: "POST";
  readonly url: string;
  /** Flat name-value list, in order. Headers of the connection (Host, Content-Length) are excluded. */
  readonly headers: readonly string[];
  readonly body: Uint8Array;
  /** Parts that may differ from the request that was sent; empty if there are none. */
  readonly differences: readonly RequestDifference[];
}

export interface RenderedFrom {
  readonly config: EndpointConfig;
  readonly delivery: StoredDelivery;
  readonly event: StoredEvent & { readonly body: Uint8Array };
  readonly attempt: AttemptRecord;
}

/**
 * Rebuilds the request of an attempt. The body and the timestamps come from the event and the attempt; the rest comes
 * from the current webhook.
 */
export function renderRequest(from: RenderedFrom): RenderedRequest {
  const { config, delivery, event, attempt } = from;
  if (!config.canSign) throw new PosthornError("conflict", noKey);
  const { headers, body } = config.compose(
    {
      ...event,
      id: delivery.id,
      webhookId: delivery.webhookId,
      eventId: event.id,
      format: delivery.format,
      eventPriority: event.priority,
      progress: { attemptCount: attempt.number - 1 },
    },
    attempt.executedAt,
  );
  if (config.oauth2 !== null) headers.push("Authorization", mask);
  return {
    method: "POST",
    url: urlOf(from),
    body,
    headers: headers.map((text, at) => (at % 2 === 0 ? text : shown(config, headers[at - 1] ?? "", text))),
    differences: differencesOf(from),
  };
}

const noKey = "the webhook has no signing key, so its requests cannot be rebuilt; replace its secret first";

/** The requested URL, if it was recorded completely. */
function urlOf({ config, attempt, event }: RenderedFrom): string {
  const trace = attempt.notes?.trace;
  const isOther = trace !== undefined && trace.configRevision !== config.webhook.revision;
  if (isOther && !trace.truncated) return trace.url;
  return maskedParameters(
    withoutSecrets(config, withRelayedPath(config.origin + config.path, event.relayed)),
  );
}

function shown(config: EndpointConfig, name: string, value: string): string {
  if (config.credentialHeaders.includes(name.toLowerCase())) return mask;
  return withoutSecrets(config, maskedField(name, value));
}

function withoutSecrets({ shownSecrets: secrets }: EndpointConfig, text: string): string {
  return maskSecrets(text, secrets, false);
}

function differencesOf({ config, attempt }: RenderedFrom): readonly RequestDifference[] {
  const { webhook, secrets, oauth2 } = config;
  const revision = attempt.notes?.trace?.configRevision ?? null;
  const differences: RequestDifference[] = [];
  const changed = revision !== null && revision !== webhook.revision;
  if (changed) differences.push({ parts: ["url", "headers"], why: "configuration_changed" });
  if (revision === null && webhook.updatedAt >= attempt.executedAt)
    differences.push({ parts: ["url", "headers"], why: "configuration_may_have_changed" });
  if (secrets.some(({ createdAt }) => createdAt > attempt.executedAt))
    differences.push({ parts: ["signature"], why: "secret_rotated" });
  if (oauth2 !== null) differences.push({ parts: ["headers", "signature"], why: "access_token" });
  return differences;
}
