import type { Endpoint } from "./endpoint.ts";

/** Receives state changes from the owner of an endpoint, for the next owner (cluster/endpoint-notes.ts). */
export interface OwnerNotes {
  /** A result was counted in the window of the endpoint's circuit. */
  counted(endpoint: Endpoint, accepted: boolean): void;
  /** The state of the endpoint changed, perhaps with its window. */
  changed(endpoint: Endpoint): void;
  /** Its rate limit let a request through. */
  rateUsed(endpoint: Endpoint): void;
}
