import { circuitFromJson, circuitToJson } from "../core/circuit-json.ts";
import { healthFromJson } from "../core/endpoint-health.ts";
import type { WebhookRuntimeState } from "../ports/store/deliveries.ts";
import type { Directory } from "./directory.ts";
import type { Endpoint } from "./endpoint.ts";

/** What is stored of an endpoint, so that an open circuit or a pause survives a restart. */
export function runtimeStateOf(endpoint: Endpoint): WebhookRuntimeState {
  return {
    webhookId: endpoint.webhook.id,
    pausedUntil: endpoint.pausedUntil,
    pauseReason: endpoint.pauseReason,
    lastSuccessAt: endpoint.lastSuccessAt,
    circuit: JSON.stringify(circuitToJson(endpoint.circuit)),
    health: JSON.stringify(endpoint.health),
    ...(endpoint.fence === null ? {} : { fence: endpoint.fence }),
  };
}

export function restoreRuntimeState(endpoint: Endpoint, state: WebhookRuntimeState): void {
  endpoint.pausedUntil = state.pausedUntil;
  endpoint.pauseReason = state.pauseReason;
  endpoint.lastSuccessAt = state.lastSuccessAt;
  endpoint.lastSuccessWrittenAt = state.lastSuccessAt ?? 0;
  if (state.circuit !== null)
    endpoint.circuit = circuitFromJson(JSON.parse(state.circuit)) ?? endpoint.circuit;
  if (state.health !== null) endpoint.health = healthFromJson(JSON.parse(state.health)) ?? endpoint.health;
}

/** States that changed since they were written, which are thereby considered written. Others write what they own. */
export function takeChangedStates(dirty: Set<Endpoint>): WebhookRuntimeState[] {
  if (dirty.size === 0) return [];
  const states: WebhookRuntimeState[] = [];
  for (const endpoint of dirty) {
    if (!endpoint.owned) continue;
    endpoint.lastSuccessWrittenAt = endpoint.lastSuccessAt ?? 0;
    states.push(runtimeStateOf(endpoint));
  }
  dirty.clear();
  return states;
}

/** Successes are too many to write each: marks the endpoints whose last one is not written yet. */
export function markUnwrittenSuccesses(directory: Directory, dirty: Set<Endpoint>): void {
  for (const endpoint of directory.all()) {
    if ((endpoint.lastSuccessAt ?? 0) > endpoint.lastSuccessWrittenAt) dirty.add(endpoint);
  }
}
