import { circuitFromJson, circuitToJson } from "../../core/circuit-json.ts";
import type { CircuitJson } from "../../core/circuit-json.ts";
import type { CircuitTransition } from "../../core/circuit-breaker.ts";
import type { RuntimeOrder } from "../../ports/store/ownership.ts";
import type { Endpoint } from "../endpoint.ts";

/** What a person asked of a running endpoint: another circuit, or to begin anew after it was switched on again. */
export type EndpointOrder =
  | { readonly kind: "circuit"; readonly circuit: CircuitJson }
  | { readonly kind: "reenabled" };

export function circuitOrder(endpoint: Endpoint): EndpointOrder {
  return { kind: "circuit", circuit: circuitToJson(endpoint.circuit) };
}

/** What happens when an order is followed. */
export interface OrderEffects {
  readonly circuitMoved: (endpoint: Endpoint, move: CircuitTransition) => void;
  readonly reenabled: (endpoint: Endpoint) => void;
}

/** Follows a stored order. One that cannot be read was left by a newer version, and is passed over. */
export function followOrder(endpoint: Endpoint, { order }: RuntimeOrder, effects: OrderEffects): void {
  const given = parse(order);
  if (given?.kind === "reenabled") return effects.reenabled(endpoint);
  if (given?.kind !== "circuit") return;
  const circuit = circuitFromJson(given.circuit);
  if (circuit === null) return;
  const from = endpoint.circuit.phase;
  endpoint.circuit = circuit;
  effects.circuitMoved(endpoint, { from, to: circuit.phase });
}

/** The view of a process that only looks: what the owner will see, without telling anybody. */
export function foresee(endpoint: Endpoint, order: RuntimeOrder): void {
  followOrder(endpoint, order, {
    circuitMoved: () => undefined,
    reenabled: () => {
      endpoint.pausedUntil = null;
      endpoint.pauseReason = null;
    },
  });
}

function parse(order: string): Partial<EndpointOrder> | null {
  try {
    return JSON.parse(order) as Partial<EndpointOrder> | null;
  } catch {
    return null;
  }
}
