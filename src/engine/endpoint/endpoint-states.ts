import type { CircuitTransition } from "../../domain/circuit-breaker.ts";
import { healthReenabled } from "../../domain/endpoint-health.ts";
import { hangingAfterMs, waitingAfterMs } from "../../domain/request-slots.ts";
import type { WebhookHistoryEntry } from "../../domain/webhook-history.ts";
import { instant, webhookEvent } from "../../features/notifications/operational-event.ts";
import type { WebhookRuntimeState } from "../../ports/store/deliveries.ts";
import type { TransportResult } from "../../ports/transport.ts";
import type { EngineContext } from "../engine-options.ts";
import type { Directory } from "./directory.ts";
import type { Endpoint } from "./endpoint.ts";
import type { OwnerNotes } from "./ownership.ts";
import type { OperationalEvents } from "./operational-events.ts";

/** Tracks endpoint state that changed, until the next commit includes it. */
export class EndpointStates {
  readonly #context: Pick<EngineContext, "clock" | "telemetry">;
  readonly #directory: Directory;
  /** Publishes endpoint state for other processes; null if this is the only process. */
  readonly #notes: OwnerNotes | null;
  readonly #operationalEvents: OperationalEvents;
  readonly #touch: () => void;
  readonly #dirty = new Set<Endpoint>();
  /** Circuit moves by webhook that no written state contains yet. */
  readonly #moves = new Map<string, readonly WebhookHistoryEntry[]>();

  /** `touch` is called when there are states to write, even if no other write follows. */
  constructor(
    context: Pick<EngineContext, "clock" | "telemetry">,
    directory: Directory,
    notes: OwnerNotes | null,
    operationalEvents: OperationalEvents,
    touch: () => void,
  ) {
    this.#context = context;
    this.#directory = directory;
    this.#notes = notes;
    this.#operationalEvents = operationalEvents;
    this.#touch = touch;
  }

  changed(endpoint: Endpoint): void {
    this.#dirty.add(endpoint);
    this.#notes?.changed(endpoint);
  }

  forget(endpoint: Endpoint): void {
    this.#dirty.delete(endpoint);
    this.#moves.delete(endpoint.webhook.id);
  }

  /** The states that changed after they were last written, for the next commit. */
  take(): readonly WebhookRuntimeState[] {
    if (this.#dirty.size === 0) return [];
    // Endpoints owned by other processes are skipped, because their owners write them.
    const states = [...this.#dirty].filter(({ owned }) => owned).map((endpoint) => this.#withMoves(endpoint));
    this.#dirty.clear();
    this.#moves.clear();
    return states;
  }

  #withMoves(endpoint: Endpoint): WebhookRuntimeState {
    const moves = this.#moves.get(endpoint.webhook.id);
    const state = endpoint.takeState();
    return moves === undefined ? state : { ...state, moves };
  }

  /**
   * Records when the circuit leaves or reaches the closed state. Failed probes are not recorded, because the circuit
   * stays open.
   */
  #note(endpoint: Endpoint, { from, to }: CircuitTransition): void {
    if (from === to || (to !== "closed" && from !== "closed")) return;
    const { id } = endpoint.webhook;
    const kind = to === "closed" ? "circuit_closed" : "circuit_opened";
    const at = this.#context.clock.now();
    const entry: WebhookHistoryEntry = { at, kind, revision: null, by: null, reason: null, changes: {} };
    this.#moves.set(id, [...(this.#moves.get(id) ?? []), entry]);
  }

  circuitMoved(endpoint: Endpoint, move: CircuitTransition): void {
    const { log, metrics } = this.#context.telemetry;
    const { id: webhookId, tenantId } = endpoint.webhook;
    metrics.circuitMoved(move.from, move.to);
    log.warn({ webhookId, tenantId, from: move.from, to: move.to }, "circuit breaker moved");
    this.#tell(endpoint, move);
    this.#note(endpoint, move);
    this.changed(endpoint);
  }

  /**
   * Notifies once when the circuit opens and once when it closes again, but not for the probes in between (WDS-146,
   * 148).
   */
  #tell(endpoint: Endpoint, { from, to }: CircuitTransition): void {
    const isOpening = from === "closed" && to === "open";
    if (!isOpening && to !== "closed") return;
    const { circuit, webhook } = endpoint;
    const { errorThresholdPercentage, windowSizeMs } = endpoint.policy.circuitBreaker;
    const rule = { error_threshold_percentage: errorThresholdPercentage, window_size_ms: windowSizeMs };
    const data = isOpening
      ? { next_probe_at: instant(circuit.halfOpenAt), forced: circuit.forcedOpenUntil > 0, ...rule }
      : {};
    const type = isOpening ? "posthorn.webhook.circuit_opened" : "posthorn.webhook.circuit_closed";
    const at = circuit.transitionAt;
    this.#operationalEvents.tell(webhookEvent(webhook, { type, of: at, at, data }));
  }

  /** Called when a user ended the pause that the receiver requested, or the receiver changed. */
  resumed(endpoint: Endpoint): void {
    endpoint.resume();
    this.#dirty.add(endpoint);
    this.#touch();
  }

  /** Called when the webhook has a new URL. The state of the old receiver does not apply to the new one. */
  moved(endpoint: Endpoint): void {
    endpoint.forgetPace();
    this.resumed(endpoint);
  }

  /** Called when the webhook was enabled again. Clears the failures that stopped it. */
  reenabled(endpoint: Endpoint): void {
    this.resumed(endpoint);
    healthReenabled(endpoint.health);
    endpoint.forgetRecent();
    for (const lane of endpoint.lanes.values()) lane.markAllMore();
  }

  /** Writes state that changes too often to be written after each change. */
  write(): void {
    // Successes are too frequent to be written individually.
    for (const endpoint of this.#directory.all()) if (endpoint.hasUnwrittenSuccess) this.#dirty.add(endpoint);
    if (this.#dirty.size > 0) this.#touch();
  }
}

/**
 * The pace of the last response, which best predicts the next request. `quick`: within a second. `slow`: later than
 * that, or a failure within a second that is not a timeout. `silent`: not within five seconds, or no response.
 * `unknown`: before the first response. A request in flight also changes the pace: its endpoint is slow after one
 * second and silent after five.
 */
export const paces = ["quick", "unknown", "slow", "silent"] as const;
export type Pace = (typeof paces)[number];

/**
 * A refused connection ends as fast as a quick response but predicts nothing about the next request. Every timeout
 * counts as silence, even if the timeout was short.
 */
export function paceOf({ observation, durationMs }: TransportResult): Pace {
  const answered = observation.kind === "response";
  if (!answered && observation.category === "timeout") return "silent";
  if (durationMs < waitingAfterMs) return answered ? "quick" : "slow";
  return answered && durationMs < hangingAfterMs ? "slow" : "silent";
}

export function paceFromJson(value: unknown): Pace {
  return paces.find((pace) => pace === value) ?? "unknown";
}
