import { circuitFromJson, circuitToJson, type CircuitTransition } from "../../domain/circuit-breaker.ts";
import { tryParseJson } from "../../domain/json/json-text.ts";
import type { RollingWindow } from "../../domain/rolling-window.ts";
import { Loop, withDeadline } from "../../ports/clock.ts";
import {
  type EndpointNote,
  type EndpointRecollection,
  type SharedState,
  SharedStateUnavailableError,
} from "../../ports/shared-state.ts";
import type { RuntimeOrder } from "../../ports/store/ownership.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { EndpointOrder, OwnerNotes } from "../endpoint/ownership.ts";
import type { EngineContext } from "../engine-options.ts";

export function circuitOrder(endpoint: Endpoint): EndpointOrder {
  return { kind: "circuit", circuit: circuitToJson(endpoint.circuit) };
}

/** The effects of executing an order. */
export interface OrderEffects {
  readonly circuitMoved: (endpoint: Endpoint, move: CircuitTransition) => void;
  readonly resumed: (endpoint: Endpoint) => void;
  readonly reenabled: (endpoint: Endpoint) => void;
}

/** Executes a stored order. An unreadable order comes from a newer version and is ignored. */
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

/**
 * Results of an endpoint that were not yet sent to the shared state. Several places clear or replace the circuit's
 * window without updating this object. Comparing the window and its clear count detects that afterwards.
 */
interface Unsent {
  /** The window that was counted, and the value of its clear count when it was counted. */
  window: RollingWindow;
  clearings: number;
  cleared: boolean;
  counts: { readonly slice: number; successes: number; failures: number }[];
}

/**
 * Publishes runtime data of an endpoint that the store does not contain: the window of its circuit and the used part
 * of its rate limit. The next owner reads it, so that a circuit near its threshold opens in time and a limit is
 * respected (WDS-36).
 *
 * Updates of all endpoints are batched. An update that cannot be sent is dropped, unless it clears a window:
 * lost counts are acceptable, but cleared counts must not return.
 */
export class EndpointNotes implements OwnerNotes {
  readonly #context: Pick<EngineContext, "clock" | "telemetry">;
  readonly #state: Pick<SharedState, "endpoints" | "isAvailable">;
  readonly #unsent = new WeakMap<Endpoint, Unsent>();
  #due = new Set<Endpoint>();
  /** At most one call runs at a time. */
  readonly #loop: Loop;

  constructor(
    context: Pick<EngineContext, "clock" | "telemetry">,
    state: Pick<SharedState, "endpoints" | "isAvailable">,
  ) {
    this.#context = context;
    this.#state = state;
    this.#loop = new Loop({
      clock: context.clock,
      round: () => this.#send(),
      failed: (error) => this.#failed(error),
    });
  }

  /** Called when a result was counted in the window of the endpoint's circuit. */
  counted(endpoint: Endpoint, accepted: boolean): void {
    const unsent = this.#compare(endpoint);
    const { window } = unsent;
    // This result may itself have cleared the window.
    if (window.successes + window.failures > 0) count(unsent, accepted);
    this.#dueSoon(endpoint);
  }

  /** Called when the endpoint's circuit may have changed, because of a result or a manual change. */
  changed(endpoint: Endpoint): void {
    if (this.#compare(endpoint).cleared) this.#dueSoon(endpoint);
  }

  /** Called when a token of the endpoint's own rate limit was used. */
  rateUsed(endpoint: Endpoint): void {
    this.#compare(endpoint);
    this.#dueSoon(endpoint);
  }

  /**
   * Called when the endpoint was acquired. Its current circuit and bucket come from the shared state, so they are not
   * sent again.
   */
  acquired(endpoint: Endpoint): void {
    const { window } = endpoint.circuit;
    this.#unsent.set(endpoint, { window, clearings: window.clearings, cleared: false, counts: [] });
    this.#due.delete(endpoint);
  }

  /** The state that previous owners published, if it arrives in time. Never rejects. */
  async recall(endpoints: readonly Endpoint[]): Promise<ReadonlyMap<Endpoint, EndpointRecollection>> {
    const { clock } = this.#context;
    if (endpoints.length === 0 || !this.#state.isAvailable) return new Map();
    const queries = endpoints.map(({ webhook, policy }) => ({
      webhookId: webhook.id,
      windowMs: policy.circuitBreaker.windowSizeMs,
    }));
    try {
      const recalled = this.#state.endpoints.recall(queries);
      const found = await withDeadline(recalled, { clock, timeoutMs: recallMsMax });
      return new Map((found ?? []).map((each, index) => [endpoints[index] as Endpoint, each]));
    } catch (error) {
      this.#failed(error);
      return new Map();
    }
  }

  /** Sends pending updates immediately, because another worker will need them soon. */
  hurry(): void {
    if (this.#due.size > 0) this.#loop.soon(0);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#send();
  }

  /** Detects a window that was cleared, or that was replaced together with the whole circuit. */
  #compare(endpoint: Endpoint): Unsent {
    const { window } = endpoint.circuit;
    let unsent = this.#unsent.get(endpoint);
    if (unsent === undefined) {
      unsent = { window, clearings: 0, cleared: false, counts: [] };
      this.#unsent.set(endpoint, unsent);
    }
    if (unsent.window !== window || unsent.clearings !== window.clearings) {
      unsent.window = window;
      unsent.clearings = window.clearings;
      unsent.cleared = true;
      unsent.counts = [];
    }
    return unsent;
  }

  #dueSoon(endpoint: Endpoint): void {
    // Another worker owns the endpoint, so updates from this one would be outdated.
    if (!endpoint.owned && endpoint.ownerEpoch === null) return;
    this.#due.add(endpoint);
    this.#loop.soon(endpoint.owned ? gatherMs : 0);
  }

  async #send(): Promise<void> {
    const due = this.#due;
    if (due.size === 0) return;
    this.#due = new Set();
    const notes: EndpointNote[] = [];
    const cleared: Unsent[] = [];
    for (const endpoint of due) {
      const unsent = this.#compare(endpoint);
      if (unsent.cleared) cleared.push(unsent);
      notes.push(noteOf(endpoint, unsent));
      unsent.cleared = false;
      unsent.counts = [];
    }
    try {
      if (!this.#state.isAvailable) throw new SharedStateUnavailableError("the shared state is unavailable");
      await this.#state.endpoints.note(notes);
    } catch (error) {
      for (const unsent of cleared) unsent.cleared = true;
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (error instanceof SharedStateUnavailableError) return;
    this.#context.telemetry.log.warn(
      { err: String(error) },
      "sharing webhook state with other workers failed",
    );
  }
}

function count(unsent: Unsent, accepted: boolean): void {
  const slice = unsent.window.head;
  let last = unsent.counts.at(-1);
  if (last?.slice !== slice) {
    last = { slice, successes: 0, failures: 0 };
    unsent.counts.push(last);
    if (unsent.counts.length > slicesMax) unsent.counts.shift();
  }
  if (accepted) last.successes += 1;
  else last.failures += 1;
}

function noteOf(endpoint: Endpoint, { window, cleared, counts }: Unsent): EndpointNote {
  return {
    webhookId: endpoint.webhook.id,
    windowMs: window.sizeMs,
    cleared,
    counts,
    rateFullAt: endpoint.bucket?.fullAt ?? null,
  };
}

/**
 * How long updates are gathered, and therefore the maximum age of the state that a dead owner published. A shorter
 * interval would cause more calls for each busy endpoint.
 */
const gatherMs = 250;
/** Maximum time that acquiring an endpoint waits for its published state. */
const recallMsMax = 250;
/** Maximum number of slices in a window. */
const slicesMax = 60;
