import { PosthornError } from "../../domain/errors.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ForwardNote, ReceivedRequest } from "../../ports/store/gateway.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { ConnectionDeduplication } from "./connection-deduplication.ts";
import type { GatewayDirectory } from "./gateway-directory.ts";
import { type InboundAnswer, refusal } from "./gateway-services.ts";
import type { HeldMessages } from "./held-messages.ts";
import { type Authentic, placeOf, type Routed, routed } from "./incoming.ts";
import type { PassThrough } from "./pass-through.ts";
import type { GatewayOutcome, Relayed } from "./relayed.ts";
import type { Connection, GatewayMode, Source } from "./source.ts";

/** The outcome of a message, and the response to its sender. */
export interface Delivered {
  readonly answer: InboundAnswer;
  readonly outcome: GatewayOutcome;
  readonly forwards: readonly ForwardNote[];
  readonly eventId: string | null;
  /** Whether the log row was already written, in the same transaction. */
  readonly isLogged?: boolean;
}

/** Creates the log row of a request that became an event. */
export type RequestWriter = (delivered: Delivered) => ReceivedRequest;

export interface DelivererOptions {
  readonly directory: Pick<GatewayDirectory, "connectionsOf">;
  readonly access: Pick<EngineAccess, "gateway">;
  readonly deduplication: ConnectionDeduplication;
  readonly passThrough: PassThrough;
  readonly telemetry: Pick<Telemetry, "log" | "metrics">;
  readonly clock: Pick<Clock, "defer">;
  readonly held: Pick<HeldMessages, "turn">;
  readonly effectiveMode: (source: Source) => GatewayMode;
}

/** Delivers an authentic message to the connections of its source. */
export class Deliverer {
  readonly #options: DelivererOptions;

  constructor(options: DelivererOptions) {
    this.#options = options;
  }

  /**
   * Delivers a message. Applies the rules of the connections in order: filter, delay, deduplication, retries. Pauses
   * are applied last.
   */
  async deliver(authentic: Authentic, request: RequestWriter): Promise<Delivered> {
    const { source } = authentic.incoming;
    const { directory, held, effectiveMode } = this.#options;
    // Only stored messages can be held. In pass-through mode the sender is asked to retry instead.
    if (effectiveMode(source) !== "store_and_forward")
      return this.#deliverTo(directory.connectionsOf(source.id), authentic, request);
    const { connections, ended } = await held.turn(source.id);
    try {
      return await this.#deliverTo(connections, authentic, request);
    } finally {
      ended();
    }
  }

  async #deliverTo(
    connections: readonly Connection[],
    authentic: Authentic,
    request: RequestWriter,
  ): Promise<Delivered> {
    const { clock } = this.#options;
    const sifted = await this.#options.deduplication.sift(
      authentic,
      await routed(authentic, connections, clock),
    );
    const { ways, isRunning, ended } = sifted;
    if (isRunning) {
      await ended(() => false);
      const detail = "A message that counts as the same is already being processed.";
      const answer = refusal("idempotency_key_in_progress", detail, { retryAfterSeconds: 1 });
      return { answer, outcome: "duplicate", forwards: [], eventId: null };
    }
    try {
      const isConnected = connections.length > 0;
      const delivered = await this.#send(authentic, { ...ways, request, isConnected });
      await ended((connection) => isTakenBy(delivered, connection));
      return delivered;
    } catch (error) {
      await ended(() => false);
      throw error;
    }
  }

  #send(
    authentic: Authentic,
    ways: Routed & { readonly request: RequestWriter; readonly isConnected: boolean },
  ): Promise<Delivered> {
    const { effectiveMode, passThrough } = this.#options;
    if (effectiveMode(authentic.incoming.source) === "store_and_forward") return this.store(authentic, ways);
    // Only stored messages queue behind a pause.
    const isPaused = ({ pausedAt }: Connection): boolean => pausedAt !== null;
    const held = ways.held.filter(isPaused);
    const open = [...ways.open, ...ways.held.filter((connection) => !isPaused(connection))];
    return passThrough.pass(authentic, { ...ways, open, held });
  }

  /** Stores event, deliveries, key and log row in one transaction, then responds to the sender (EDS-9.7-6). */
  async store(
    authentic: Authentic,
    { open, held, ignored, request: requestOf }: Routed & { readonly request: RequestWriter },
  ): Promise<Delivered> {
    const { source, request } = authentic.incoming;
    if (open.length + held.length === 0 && ignored.length > 0)
      return { answer: success(source, {}), outcome: "ignored", forwards: ignored, eventId: null };
    const forwards: ForwardNote[] = [
      ...open.map((one) => ({ ...placeOf(one), result: "stored" as const, detail: null })),
      ...held.map((one) => ({ ...placeOf(one), result: "held" as const, detail: null })),
      ...ignored,
    ];
    const stored = (eventId: string): Delivered => {
      const answer = success(source, { event_id: eventId, duplicate: false });
      return { answer, outcome: "accepted", forwards, eventId, isLogged: true };
    };
    try {
      const { id: eventId, duplicate } = await this.#options.access.gateway.publish({
        tenantId: source.tenantId,
        eventType: authentic.eventType,
        raw: { contentType: authentic.contentType, body: request.body },
        source: source.name,
        relayed: withRetryDelays(authentic.relayed, [...open, ...held]),
        key: authentic.key,
        dedupMs: source.dedupWindowMs,
        targets: open.map(({ webhookId, delayMs }) => ({ webhookId, delayMs })),
        request: (id) => requestOf(stored(id)),
      });
      if (!duplicate) return stored(eventId);
      const answer = success(source, { event_id: eventId, duplicate });
      return { answer, outcome: "duplicate", forwards: [], eventId };
    } catch (error) {
      return this.#notStored(authentic, error);
    }
  }

  #notStored({ incoming }: Authentic, error: unknown): Delivered {
    const nothing = { forwards: [], eventId: null };
    if (!(error instanceof PosthornError)) throw error;
    const { retryAfterSeconds } = error;
    const more = retryAfterSeconds === null ? {} : { retryAfterSeconds };
    switch (error.code) {
      case "event_in_progress": {
        const detail = "A request with the same key is being processed.";
        return {
          ...nothing,
          answer: refusal("idempotency_key_in_progress", detail, more),
          outcome: "duplicate",
        };
      }
      case "event_key_reused": {
        const { id: sourceId, tenantId } = incoming.source;
        const { log, metrics } = this.#options.telemetry;
        log.warn(
          { sourceId, tenantId, incident: "key_reused" },
          "a known key was used with a different body",
        );
        metrics.gatewayIncident?.("key_reused");
        const detail = "The key was used for a different message.";
        return { ...nothing, answer: refusal("idempotency_key_reused", detail), outcome: "rejected" };
      }
      default:
        return {
          ...nothing,
          answer: refusal("store_unavailable", "The message cannot be stored now.", more),
          outcome: "failed",
        };
    }
  }
}

function isTakenBy({ forwards }: Delivered, { id }: Connection): boolean {
  const note = forwards.find(({ connectionId }) => connectionId === id);
  return note !== undefined && note.result !== "failed";
}

function withRetryDelays(relayed: Relayed, connections: readonly Connection[]): Relayed {
  const own = connections.flatMap(({ webhookId, retryDelaysMs }) =>
    retryDelaysMs === null ? [] : [[webhookId, retryDelaysMs] as const],
  );
  return own.length === 0 ? relayed : { ...relayed, retryDelaysMs: Object.fromEntries(own) };
}

/** The response once the message is stored: the default, or the custom response of the source. */
function success({ customResponse }: Source, facts: object): InboundAnswer {
  if (customResponse === null)
    return { status: 202, headers: { "content-type": "application/json" }, body: JSON.stringify(facts) };
  const { status, contentType, body } = customResponse;
  const hasBody = body !== null && status !== 204 && status !== 205;
  return {
    status,
    headers: hasBody ? { "content-type": contentType ?? "text/plain; charset=utf-8" } : {},
    body: hasBody ? body : "",
  };
}
