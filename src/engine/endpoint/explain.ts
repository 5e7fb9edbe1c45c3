import type { DeliveryStatus, DeliveryWait, WaitingFor } from "../../domain/delivery.ts";
import { type DeliveryGate, explainGate } from "../../domain/gate-explanation.ts";
import type { StoredDelivery } from "../../ports/store/history.ts";
import type { Endpoint } from "./endpoint.ts";
import { closedByRate, closedGates, holdingGate } from "./gates.ts";
import { laneId } from "./lane.ts";
import type { EndpointReport } from "./endpoint-config.ts";

export interface DeliveryView {
  readonly delivery: StoredDelivery;
  readonly status: DeliveryStatus;
  /** Null unless the delivery is waiting. */
  readonly waitingFor: WaitingFor | null;
  /** When the wait ends, in Unix milliseconds; null if unknown. */
  readonly waitingUntil: number | null;
  readonly nextAttemptAt: number | null;
  /**
   * The gates that have held the delivery since it was due. Waits before earlier attempts are recorded with those
   * attempts.
   */
  readonly waits: readonly DeliveryWait[];
  /**
   * All reasons why it waits now, in the order in which they are checked; the first one is the main reason. Empty
   * unless it is waiting.
   */
  readonly gates: readonly DeliveryGate[];
}

export interface ExplainInput {
  readonly delivery: StoredDelivery;
  /** Undefined if the webhook was deleted. */
  readonly endpoint: Endpoint | undefined;
  /** Whether a request of this delivery is in flight. */
  readonly inFlight: boolean;
  readonly now: number;
}

/**
 * Computes the status shown in the API, with the reason and the end of the wait of a waiting delivery. Reads the
 * endpoint but changes nothing.
 */
export function explain(input: ExplainInput): DeliveryView {
  const { delivery, endpoint, now } = input;
  const { state, dueAt } = delivery.progress;
  if (state !== "pending" && state !== "failed") return idle(delivery);
  const wait = waitOf(input);
  const blocked = wait.waitingFor === "circuit_open" && dueAt <= now;
  const until =
    wait.until === null && wait.waitingFor !== "schedule" ? null : Math.max(wait.until ?? 0, dueAt);
  return {
    delivery,
    status: blocked ? "circuit_blocked" : state,
    waitingFor: wait.waitingFor,
    waitingUntil: endpoint === undefined ? null : until,
    nextAttemptAt: until === null ? null : Math.max(until, now),
    waits: endpoint === undefined ? [] : gatesSince(endpoint, dueAt, now),
    gates: waitsOf(input, wait).map((each) => gateOf(each, input)),
  };
}

interface Wait {
  readonly waitingFor: WaitingFor;
  readonly until: number | null;
}

/**
 * The main reason why a delivery waits. It is the first of these that applies: a deleted webhook, a request in flight,
 * the first closed gate (`holdingGate`) unless it opens before the delivery is due, the due time, the order of the
 * lane, the rate limit, the capacity.
 */
function waitOf(input: ExplainInput): Wait {
  const { delivery, endpoint, now } = input;
  if (endpoint === undefined) return { waitingFor: "inactive", until: null };
  const { report } = endpoint;
  const { dueAt } = delivery.progress;
  // A report may be a few seconds old. A delivery that was in flight then may have failed since, and may be due later.
  const isReported = dueAt <= now && report?.deliveries.includes(delivery.id) === true;
  if (input.inFlight || isReported) return { waitingFor: "in_flight", until: null };
  const gate = holdingGate(endpoint, now);
  const isProbing = gate?.waitingFor === "circuit_open" && gate.until === null;
  if (gate !== null && !(isProbing && dueAt > now) && (gate.until === null || gate.until > dueAt))
    return gate;
  if (dueAt > now) return scheduleWait(delivery);
  return orderWait(input, endpoint) ?? rateWait(endpoint, now) ?? { waitingFor: "capacity", until: null };
}

/** The main reason, followed by all other reasons in the same fixed order. */
function waitsOf(input: ExplainInput, first: Wait): readonly Wait[] {
  const { delivery, endpoint, now } = input;
  if (endpoint === undefined || first.waitingFor === "in_flight") return [first];
  const { dueAt } = delivery.progress;
  const rest = [
    ...closedGates(endpoint, now),
    dueAt > now ? scheduleWait(delivery) : null,
    orderWait(input, endpoint),
    rateWait(endpoint, now),
  ].filter((wait) => wait !== null);
  return [first, ...rest.filter(({ waitingFor }) => waitingFor !== first.waitingFor)];
}

/**
 * The closed gates of a webhook. Reasons that concern single deliveries, such as the retry schedule, are excluded.
 * Pure.
 */
export function explainWebhook(endpoint: Endpoint, now: number): readonly DeliveryGate[] {
  const rest = [headWait(endpoint, now), rateWait(endpoint, now)].filter((wait) => wait !== null);
  return [...closedGates(endpoint, now), ...rest].map((each) =>
    gateOf(each, { delivery: null, endpoint, now }),
  );
}

/** The wait of the ordered lane that waits longest for its head; null if no lane waits. */
function headWait({ owned, ownerEpoch, lanes, report }: Endpoint, now: number): Wait | null {
  const isKnown = owned || ownerEpoch !== null;
  const own = isKnown ? [...lanes.values()].map((lane) => (lane.ordered ? lane.wakeAt : null)) : [];
  const ends = report === null ? own : report.heads.map(([, wakeAt]) => wakeAt);
  const until = Math.max(now, ...ends.filter((end) => end !== null));
  return until > now ? { waitingFor: "order", until } : null;
}

interface GateInput extends Pick<ExplainInput, "endpoint" | "now"> {
  /** Null for the gates of a webhook. */
  readonly delivery: StoredDelivery | null;
}

function gateOf({ waitingFor: gate, until }: Wait, input: GateInput): DeliveryGate {
  const { delivery, endpoint, now } = input;
  const webhook = endpoint?.webhook;
  const deliveryId = delivery?.id ?? null;
  const isForcedOpen = endpoint !== undefined && endpoint.circuit.forcedOpenUntil > now;
  return {
    gate,
    until,
    since: sinceOf(gate, input),
    ...explainGate({ gate, deliveryId, webhook, isForcedOpen, isHalfOpen: until === null }),
  };
}

/** When the wait began; null if it was not recorded. */
function sinceOf(gate: WaitingFor, { delivery, endpoint, now }: GateInput): number | null {
  if (gate === "schedule" && delivery !== null)
    return delivery.lastAttempt?.executedAt ?? delivery.progress.createdAt;
  if (endpoint === undefined) return null;
  if (gate === "inactive") return endpoint.webhook.statusChangedAt;
  if (gate === "paused") return endpoint.webhook.pause?.since ?? null;
  if (gate === "circuit_open") return endpoint.circuit.transitionAt;
  const time = { from: 0, until: now };
  const noted = [
    ...(endpoint.gateLog?.within(time) ?? []),
    ...(endpoint.tenantQueue.gateLog?.within(time) ?? []),
  ];
  return noted.findLast(({ reason }) => reason === gate)?.from ?? null;
}

function rateWait(endpoint: Endpoint, now: number): Wait | null {
  const until = endpoint.report?.tenantLimitUntil ?? 0;
  return closedByRate(endpoint, now) ?? (until > now ? { waitingFor: "tenant_rate_limit", until } : null);
}

function scheduleWait({ retryAfterHolds, progress }: ExplainInput["delivery"]): Wait {
  return { waitingFor: retryAfterHolds ? "retry_after" : "schedule", until: progress.dueAt };
}

/** In an ordered lane, all deliveries except the head wait for the head. */
function orderWait(input: ExplainInput, endpoint: Endpoint): Wait | null {
  const { report } = endpoint;
  return report === null ? ownOrderWait(input, endpoint) : reportedOrderWait(input, report);
}

/** Like `ownOrderWait`, for an endpoint that another process owns. A head that is already due is in flight or was sent. */
function reportedOrderWait({ delivery, now }: ExplainInput, { heads }: EndpointReport): Wait | null {
  const head = heads.find(([id]) => id === laneId(delivery.lane));
  if (head === undefined) return null;
  const [, wakeAt] = head;
  return { waitingFor: "order", until: wakeAt !== null && wakeAt > now ? wakeAt : null };
}

function ownOrderWait(input: ExplainInput, endpoint: Endpoint): Wait | null {
  // The state in memory is from an earlier ownership and outdated.
  if (!endpoint.owned && endpoint.ownerEpoch === null) return null;
  const lane = endpoint.lanes.get(laneId(input.delivery.lane));
  if (lane === undefined || !lane.ordered) return null;
  const headWaits = lane.wakeAt !== null && lane.wakeAt > input.now;
  if (headWaits) return { waitingFor: "order", until: lane.wakeAt };
  return lane.inFlight > 0 ? { waitingFor: "order", until: null } : null;
}

function gatesSince({ gateLog, tenantQueue }: Endpoint, dueAt: number, now: number): readonly DeliveryWait[] {
  const time = { from: dueAt, until: now };
  return [...(gateLog?.within(time) ?? []), ...(tenantQueue.gateLog?.within(time) ?? [])];
}

function idle(delivery: StoredDelivery): DeliveryView {
  return {
    delivery,
    status: delivery.progress.state,
    waitingFor: null,
    waitingUntil: null,
    nextAttemptAt: null,
    waits: [],
    gates: [],
  };
}
