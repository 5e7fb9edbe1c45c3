import type { CircuitJson } from "../../domain/circuit-breaker.ts";
import type { Endpoint } from "./endpoint.ts";

/**
 * Receives state changes of an endpoint from its owner, and passes them on to the next owner
 * (cluster/endpoint-notes.ts).
 */
export interface OwnerNotes {
  /** Called when a result was counted in the window of the endpoint's circuit. */
  counted(endpoint: Endpoint, accepted: boolean): void;
  /** Called when the state of the endpoint changed. The window of its circuit may have changed as well. */
  changed(endpoint: Endpoint): void;
  /** Called when the endpoint's rate limit let a request through. */
  rateUsed(endpoint: Endpoint): void;
}

/** A task that one process does at a time. Others may take over after `forMs` without renewal. */
export interface Leadership {
  readonly name: string;
  readonly forMs: number;
}

/**
 * Which endpoints this process serves. One process at a time serves an endpoint, and `Endpoint.owned` says whether it
 * is this one. Only the owner lists the endpoint, claims for it, sends to it and writes its state.
 *
 * This is the engine's only view of other processes. `soleOwner` implements it for one process, and
 * create-ownership.ts for several. Shutdown has three steps, because requests in flight may take half a minute: call
 * `pause`, stop sending; call `retire`, commit the last results; call `leave`.
 */
export interface Ownership {
  /** False while this process cannot prove that it still owns its endpoints. Nothing is sent during that time. */
  holds(): boolean;
  /** Number of owned endpoints; null if this process owns all endpoints. */
  owned(): number | null;
  start(): Promise<void>;
  /** Called when a delivery waits for an endpoint that this process does not own. */
  wanted(webhookId: string): void;
  /** Sends a user's order to the owner, if another process owns the endpoint. */
  order(endpoint: Endpoint, order: EndpointOrder): Promise<void>;
  /**
   * Loads changes that other processes may have made to these webhooks. With `states`, loads only the state of their
   * endpoints, which costs much less for many webhooks.
   */
  refresh(webhookIds: readonly string[], part?: "states"): Promise<void>;
  /** Whether this process leads in a task. */
  isLeader(leadership: Leadership): Promise<boolean>;
  /** Acquires no further webhooks and renews no leaderships. */
  pause(): Promise<void>;
  /** Releases quiet webhooks. Call after `pause`, when no new requests are sent. */
  retire(): void;
  /** Releases everything that this process owns, after the last commit. */
  leave(): Promise<void>;
}

/** A user's command to a running endpoint: a new circuit state, the end of a pause, or a reset after it was enabled. */
export type EndpointOrder =
  | { readonly kind: "circuit"; readonly circuit: CircuitJson }
  | { readonly kind: "resumed" }
  | { readonly kind: "reenabled" };

/** The only process on a store: it always owns everything, so the event path has no ownership checks. */
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
