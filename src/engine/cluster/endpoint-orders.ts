import { circuitFromJson, circuitToJson } from "../../core/circuit-json.ts";
import type { CircuitTransition } from "../../core/circuit-breaker.ts";
import { tryParseJson } from "../../core/json/try-parse.ts";
import type { RuntimeOrder } from "../../ports/store/ownership.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { EndpointOrder } from "../endpoint/ownership.ts";

export function circuitOrder(endpoint: Endpoint): EndpointOrder {
  return { kind: "circuit", circuit: circuitToJson(endpoint.circuit) };
}

/** The effects of following an order. */
export interface OrderEffects {
  readonly circuitMoved: (endpoint: Endpoint, move: CircuitTransition) => void;
  readonly resumed: (endpoint: Endpoint) => void;
  readonly reenabled: (endpoint: Endpoint) => void;
}

/** Follows a stored order. An unreadable order comes from a newer version and is ignored. */
export function followOrder(endpoint: Endpoint, { order }: RuntimeOrder, effects: OrderEffects): void {
  const given = tryParseJson(order) as Partial<EndpointOrder> | null | undefined;
  if (given?.kind === "reenabled") return effects.reenabled(endpoint);
  if (given?.kind === "resumed") return effects.resumed(endpoint);
  if (given?.kind !== "circuit") return;
  const circuit = circuitFromJson(given.circuit);
  if (circuit === null) return;
  const from = endpoint.circuit.phase;
  endpoint.replaceCircuit(circuit);
  effects.circuitMoved(endpoint, { from, to: circuit.phase });
}

/** Previews the effect of an order in a process that does not own the endpoint, without side effects. */
export function foresee(endpoint: Endpoint, order: RuntimeOrder): void {
  followOrder(endpoint, order, {
    circuitMoved: () => undefined,
    resumed: () => endpoint.resume(),
    reenabled: () => endpoint.resume(),
  });
}
