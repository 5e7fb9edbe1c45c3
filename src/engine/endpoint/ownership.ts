import type { CircuitJson } from "../../core/circuit-json.ts";
import type { Endpoint } from "./endpoint.ts";

/**
 * Which endpoints this process serves. One process at a time serves an endpoint, and `Endpoint.owned` says whether it
 * is this one. Only the owner lists the endpoint, claims for it, sends to it and writes its state.
 *
 * The engine sees no more of other processes than this. `soleOwner` answers for one process, create-ownership.ts puts the
 * parts together for several. The end has three steps, because requests on their way may take half a minute: `pause`, then
 * nothing new is sent, `retire`, then the last results are committed, `leave`.
 */
export interface Ownership {
  /** False while this process cannot prove that it still owns what it owned: then nothing is sent. */
  holds(): boolean;
  /** Endpoints owned; null when that is all of them. */
  owned(): number | null;
  start(): Promise<void>;
  /** A delivery waits for an endpoint that this process does not own. */
  wanted(webhookId: string): void;
  /** Asks the owner for something that a person wants, when that is another process. */
  order(endpoint: Endpoint, order: EndpointOrder): Promise<void>;
  /**
   * Reads what other processes may have changed of these webhooks; `states` is how their endpoints are doing alone, which
   * costs much less where very many are asked for.
   */
  refresh(webhookIds: readonly string[], part?: "states"): Promise<void>;
  /** Whether this process leads in what one process does at a time. Others may after `forMs` without renewal. */
  isLeader(leadership: { readonly name: string; readonly forMs: number }): Promise<boolean>;
  /** Acquires nothing more, and renews no leadership. */
  pause(): Promise<void>;
  /** Others may serve what nothing is under way for. After `pause`, when nothing new is sent any more. */
  retire(): void;
  /** Gives back what it owns, after the last commit. */
  leave(): Promise<void>;
}

/**
 * A person's order to a running endpoint: another circuit, no pause any more, or a fresh start after it was enabled.
 */
export type EndpointOrder =
  | { readonly kind: "circuit"; readonly circuit: CircuitJson }
  | { readonly kind: "resumed" }
  | { readonly kind: "reenabled" };

/** The only process on a store: it owns everything, for ever, and nothing asks about it on the path of an event. */
export const soleOwner: Ownership = {
  holds: () => true,
  owned: () => null,
  start: async () => undefined,
  wanted: () => undefined,
  order: async () => undefined,
  refresh: async () => undefined,
  isLeader: async () => true,
  pause: async () => undefined,
  retire: () => undefined,
  leave: async () => undefined,
};
