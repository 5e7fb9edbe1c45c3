import {
  type CircuitSnapshot,
  type CircuitTransition,
  type ForceCommand,
  forceClose,
  forceOpen,
  resetCircuit,
  snapshotCircuit,
} from "../../core/circuit-breaker.ts";
import { PosthornError } from "../../core/errors.ts";
import { defaultOf } from "../../core/fields/field.ts";
import { circuitActionFields } from "../../core/fields/actions.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import type { CircuitCommand, Scope } from "../services.ts";
import { ProblemList } from "../problem-list.ts";
import { readFields } from "../read-fields.ts";

/** Changes a circuit manually; the engine then re-evaluates its deliveries and records the change. */
export async function changeCircuit(
  live: LiveWebhook,
  command: CircuitCommand,
  access: Pick<EngineAccess, "circuitChanged">,
  clock: Clock,
): Promise<CircuitSnapshot> {
  const problems = new ProblemList();
  readFields(circuitActionFields, command, problems);
  problems.throwIfAny("the circuit breaker action");
  const now = clock.now();
  const { durationSeconds = defaultOf(circuitActionFields.durationSeconds) } = command;
  const force = { now, untilMs: now + durationSeconds * 1_000 };
  await access.circuitChanged(live.webhook.id, apply(live, command.action, force));
  return snapshotCircuit(live.circuit, live.policy.circuitBreaker, clock.now());
}

/** A webhook whose circuit delays deliveries, with their number in a selection. */
export interface OpenCircuit {
  readonly webhookId: string;
  /** When the next probe may be sent, Unix milliseconds; null while probes are sent. */
  readonly until: number | null;
  readonly count: number;
}

/** The webhooks among these whose circuit is not closed, with their counts. */
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

/** The same for one webhook; empty if its circuit is closed. */
export function openCircuitOf(
  live: LiveWebhook | undefined,
  count: number,
  now: number,
): readonly OpenCircuit[] {
  const circuit = notClosed(live, now);
  if (live === undefined || circuit === null) return [];
  return [{ webhookId: live.webhook.id, until: circuit.nextHalfOpenAt, count }];
}

/** Portal sessions cannot change circuits. */
export function requireCircuitRights({ portal }: Scope): void {
  if (portal !== undefined)
    throw new PosthornError("forbidden", "a portal session cannot close the circuit of a webhook");
}

/** Closes the circuit of a webhook if it is open. */
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

/** A person reads this list, and each entry may cost a query to another process. */
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
