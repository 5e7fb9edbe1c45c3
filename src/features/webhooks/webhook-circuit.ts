import {
  type CircuitSnapshot,
  type CircuitTransition,
  forceClose,
  type ForceCommand,
  forceOpen,
  resetCircuit,
  snapshotCircuit,
} from "../../domain/circuit-breaker.ts";
import { disablesAt } from "../../domain/endpoint-health.ts";
import { PosthornError } from "../../domain/errors.ts";
import { changedAt, pauseAt, type Webhook, type WebhookPause } from "../../domain/webhook.ts";
import { healthOf, type LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import { circuitActionFields, pauseFields } from "../../resources/actions.ts";
import { defaultOf } from "../../resources/field.ts";
import { ProblemList, readFields, validFields } from "../input.ts";
import type { CircuitCommand, PauseCommand, Scope, WebhookHealthView } from "../services.ts";

/** The period that the health statistics cover. */
const statsSpanMs = 86_400_000;

/** The current state of a webhook's endpoint, and statistics of its attempts in the last day (WDS-105). */
export async function webhookHealth(
  live: LiveWebhook,
  access: Pick<EngineAccess, "gates">,
  history: HistoryStore,
  clock: Clock,
): Promise<WebhookHealthView> {
  const now = clock.now();
  const { webhook, policy, pausedUntil } = live;
  const statsSince = now - statsSpanMs;
  const isPaused = pausedUntil !== null && pausedUntil > now;
  return {
    webhookId: webhook.id,
    health: healthOf(live, now),
    status: webhook.status,
    statusReason: webhook.statusReason,
    circuit: snapshotCircuit(live.circuit, policy.circuitBreaker, now),
    pausedUntil: isPaused ? pausedUntil : null,
    pauseReason: isPaused ? live.pauseReason : null,
    gates: access.gates(webhook.id),
    inFlight: live.report?.inFlight ?? live.inFlight,
    stats: await history.attemptStats(webhook.id, statsSince),
    statsSince,
    lastSuccessAt: live.lastSuccessAt,
    disablesAt: webhook.status === "disabled" ? null : disablesAt(live.health, policy.disable),
  };
}

/** Reads a pause command. Throws InvalidRequestError if the end is in the past or too far ahead. */
export function readPause(command: PauseCommand, now: number): WebhookPause {
  const problems = new ProblemList();
  const { until = null, reason = null } = readFields(pauseFields, command, problems);
  if (until !== null && (until <= now || until - now > pauseMsMax))
    problems.add({ field: "until", message: "must be in the future and at most a year ahead" });
  problems.throwIfAny("the pause");
  return { since: now, until, reason };
}

/** Sets or removes a pause. An update to an existing pause keeps its start. */
export function withPause(webhook: Webhook, pause: WebhookPause | null, now: number): Webhook {
  const since = pauseAt(webhook, now)?.since ?? now;
  return { ...webhook, pause: pause && { ...pause, since }, updatedAt: changedAt(webhook.updatedAt, now) };
}

const pauseMsMax = 366 * 86_400_000;

/** Changes a circuit manually; the engine then re-evaluates its deliveries and records the change. */
export async function changeCircuit(
  live: LiveWebhook,
  command: CircuitCommand,
  access: Pick<EngineAccess, "circuitChanged">,
  clock: Clock,
): Promise<CircuitSnapshot> {
  validFields(circuitActionFields, command, "the circuit breaker action");
  const now = clock.now();
  const { durationSeconds = defaultOf(circuitActionFields.durationSeconds) } = command;
  const force = { now, untilMs: now + durationSeconds * 1_000 };
  await access.circuitChanged(live.webhook.id, apply(live, command.action, force));
  return snapshotCircuit(live.circuit, live.policy.circuitBreaker, clock.now());
}

/** A webhook whose circuit delays deliveries, with the number of its deliveries in a selection. */
export interface OpenCircuit {
  readonly webhookId: string;
  /** When the next probe may be sent, Unix milliseconds; null while probes are sent. */
  readonly until: number | null;
  readonly count: number;
}

/** The webhooks in `counts` whose circuit is not closed, with their counts. */
export async function openCircuitsOf(
  counts: ReadonlyMap<string, number>,
  access: Pick<EngineAccess, "webhook" | "refresh">,
  clock: Pick<Clock, "now">,
): Promise<readonly OpenCircuit[]> {
  const ids = [...counts.keys()].slice(0, circuitsLookedMax);
  await access.refresh(ids);
  const now = clock.now();
  return ids.flatMap((webhookId) =>
    openCircuitOf(access.webhook(webhookId), counts.get(webhookId) ?? 0, now),
  );
}

/** Returns the entry of one webhook; empty if its circuit is closed. */
export function openCircuitOf(
  live: LiveWebhook | undefined,
  count: number,
  now: number,
): readonly OpenCircuit[] {
  const circuit = notClosed(live, now);
  if (live === undefined || circuit === null) return [];
  return [{ webhookId: live.webhook.id, until: circuit.nextHalfOpenAt, count }];
}

/** Refuses portal sessions, which cannot change circuits. */
export function requireCircuitRights({ portal }: Scope): void {
  if (portal !== undefined)
    throw new PosthornError("forbidden", "a portal session cannot close the circuit of a webhook");
}

/** Closes the circuit of a webhook unless it is already closed. */
export async function closeCircuit(
  webhookId: string,
  access: Pick<EngineAccess, "webhook" | "refresh" | "circuitChanged">,
  clock: Clock,
): Promise<void> {
  await access.refresh([webhookId]);
  const live = access.webhook(webhookId);
  if (live === undefined || notClosed(live, clock.now()) === null) return;
  await changeCircuit(live, { id: webhookId, action: "reset" }, access, clock);
}

function notClosed(live: LiveWebhook | undefined, now: number): CircuitSnapshot | null {
  if (live === undefined) return null;
  const circuit = snapshotCircuit(live.circuit, live.policy.circuitBreaker, now);
  return circuit.state === "closed" ? null : circuit;
}

/** Maximum length of the list. People read it, and each entry may cost a query to another process. */
const circuitsLookedMax = 200;

function apply(
  live: LiveWebhook,
  action: CircuitCommand["action"],
  force: ForceCommand,
): CircuitTransition | null {
  if (action === "force_open") return forceOpen(live.circuit, force);
  if (action === "force_close") return forceClose(live.circuit, force);
  return resetCircuit(live.circuit, force.now);
}
