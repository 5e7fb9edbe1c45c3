import {
  type CircuitSnapshot,
  type CircuitTransition,
  type ForceCommand,
  forceClose,
  forceOpen,
  resetCircuit,
  snapshotCircuit,
} from "../../core/circuit-breaker.ts";
import { defaultOf } from "../../core/fields/field.ts";
import { circuitActionFields } from "../../core/fields/actions.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { LiveWebhook } from "../../engine/endpoint/live-webhook.ts";
import type { CircuitCommand } from "../services.ts";
import { ProblemList } from "../problem-list.ts";
import { readFields } from "../read-fields.ts";

/** Changes a circuit by hand; the engine then looks at its deliveries again and remembers the change. */
export async function changeCircuit(
  live: LiveWebhook,
  command: CircuitCommand,
  how: { readonly access: Pick<EngineAccess, "circuitChanged">; readonly clock: Clock },
): Promise<CircuitSnapshot> {
  const problems = new ProblemList();
  readFields(circuitActionFields, command, { problems });
  problems.throwIfAny("the circuit breaker action");
  const now = how.clock.now();
  const { durationSeconds = defaultOf(circuitActionFields.durationSeconds) } = command;
  const force = { now, untilMs: now + durationSeconds * 1_000 };
  await how.access.circuitChanged(live.webhook.id, apply(live, command.action, force));
  return snapshotCircuit(live.circuit, live.policy.circuitBreaker, how.clock.now());
}

function apply(
  live: LiveWebhook,
  action: CircuitCommand["action"],
  force: ForceCommand,
): CircuitTransition | null {
  if (action === "force_open") return forceOpen(live.circuit, force);
  if (action === "force_close") return forceClose(live.circuit, force);
  return resetCircuit(live.circuit, force.now);
}
