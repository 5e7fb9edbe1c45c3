import { circuitFromJson, circuitToJson } from "../../core/circuit-json.ts";
import { healthFromJson, pauseReasons } from "../../core/endpoint-health.ts";
import type { WebhookRuntimeState } from "../../ports/store/deliveries.ts";
import type { Directory } from "./directory.ts";
import type { Endpoint } from "./endpoint.ts";
import { gateLogFromJson } from "./gate-log.ts";
import { paceFromJson } from "./pace.ts";

/** What is stored of an endpoint, so that an open circuit or a pause survives a restart. */
export function runtimeStateOf(endpoint: Endpoint): WebhookRuntimeState {
  return {
    webhookId: endpoint.webhook.id,
    pausedUntil: endpoint.pausedUntil,
    pauseReason: endpoint.pauseReason,
    lastSuccessAt: endpoint.lastSuccessAt,
    circuit: JSON.stringify(circuitToJson(endpoint.circuit)),
    health: healthText(endpoint),
    ...(endpoint.ownerEpoch === null ? {} : { ownerEpoch: endpoint.ownerEpoch }),
  };
}

export function restoreRuntimeState(endpoint: Endpoint, state: WebhookRuntimeState): void {
  endpoint.pausedUntil = state.pausedUntil;
  endpoint.pauseReason = pauseReasons.find((reason) => reason === state.pauseReason) ?? null;
  endpoint.lastSuccessAt = state.lastSuccessAt;
  endpoint.lastSuccessWrittenAt = state.lastSuccessAt ?? 0;
  if (state.circuit !== null)
    endpoint.circuit = circuitFromJson(JSON.parse(state.circuit)) ?? endpoint.circuit;
  if (state.health === null) return;
  const stored = JSON.parse(state.health) as { readonly pace?: unknown; readonly gates?: unknown };
  endpoint.health = healthFromJson(stored) ?? endpoint.health;
  endpoint.pace = paceFromJson(stored.pace);
  endpoint.gateLog = gateLogFromJson(stored.gates);
}

/** Its health, and what else is known of it that no store looks at. */
function healthText({ health, pace, gateLog }: Endpoint): string {
  return JSON.stringify({ ...health, pace, ...(gateLog !== null && { gates: gateLog.toJSON() }) });
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
