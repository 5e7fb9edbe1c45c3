import type { CircuitTransition } from "../core/circuit-breaker.ts";
import { healthReenabled } from "../core/endpoint-health.ts";
import type { WebhookRuntimeState } from "../ports/store/deliveries.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Directory } from "./directory.ts";
import type { Endpoint } from "./endpoint.ts";
import type { EndpointNotes } from "./shared/endpoint-notes.ts";
import { markUnwrittenSuccesses, takeChangedStates } from "./runtime-state.ts";

export interface EndpointStatesOptions {
  readonly telemetry: Telemetry;
  readonly directory: Directory;
  /** What other processes are told of endpoints; null when nobody is. */
  readonly notes: EndpointNotes | null;
  /** There are states to write, though nothing else may come. */
  readonly touch: () => void;
}

/** What is remembered of endpoints: notes what changed until the next commit takes it along. */
export class EndpointStates {
  readonly #options: EndpointStatesOptions;
  readonly #dirty = new Set<Endpoint>();

  constructor(options: EndpointStatesOptions) {
    this.#options = options;
  }

  changed(endpoint: Endpoint): void {
    this.#dirty.add(endpoint);
    this.#options.notes?.changed(endpoint);
  }

  forget(endpoint: Endpoint): void {
    this.#dirty.delete(endpoint);
  }

  /** For a commit that is being composed. */
  take(): readonly WebhookRuntimeState[] {
    return takeChangedStates(this.#dirty);
  }

  circuitMoved(endpoint: Endpoint, move: CircuitTransition): void {
    const { log, metrics } = this.#options.telemetry;
    const { id: webhookId, tenantId } = endpoint.webhook;
    metrics.circuitMoved({ webhookId, from: move.from, to: move.to });
    log.warn({ webhookId, tenantId, from: move.from, to: move.to }, "circuit breaker moved");
    this.changed(endpoint);
  }

  /** Somebody switched the webhook on again: what made it stop is forgotten. */
  reenabled(endpoint: Endpoint): void {
    endpoint.pausedUntil = null;
    endpoint.pauseReason = null;
    healthReenabled(endpoint.health);
    this.#dirty.add(endpoint);
    this.#options.touch();
    for (const lane of endpoint.lanes.values()) lane.markAllMore();
  }

  /** Writes what changes too often to be written each time. */
  write(): void {
    markUnwrittenSuccesses(this.#options.directory, this.#dirty);
    if (this.#dirty.size > 0) this.#options.touch();
  }
}
