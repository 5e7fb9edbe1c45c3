import { errorOf } from "../../core/thrown.ts";
import type { CommitBatch, PublishCommand } from "../../ports/store/deliveries.ts";
import type { PendingPublish, PendingRequeue, PendingRetry } from "./commit-group.ts";
import type { PendingSettlement } from "./waiting-settlements.ts";

/** The content of one transaction, with its callers. */
export interface Group {
  readonly publishes: PendingPublish[];
  readonly requeues: PendingRequeue[];
  readonly retries: PendingRetry[];
  readonly settlements: PendingSettlement[];
  readonly batch: CommitBatch;
}

/** Splits a group into single commands. */
export function* singles(group: Group): Iterable<Group> {
  const nothing = { publishes: [], requeues: [], retries: [], settlements: [] };
  const empty: CommitBatch = { ...nothing, webhookStates: [] };
  const { webhookStates, operationalEvents = [] } = group.batch;
  if (webhookStates.length > 0) yield { ...nothing, batch: { ...empty, webhookStates } };
  for (const event of operationalEvents)
    yield { ...nothing, batch: { ...empty, operationalEvents: [event] } };
  for (const [index, pending] of group.publishes.entries()) {
    const publishes = group.batch.publishes.slice(index, index + 1);
    yield { ...nothing, publishes: [pending], batch: { ...empty, publishes } };
  }
  for (const pending of group.requeues) {
    yield { ...nothing, requeues: [pending], batch: { ...empty, requeues: [pending.command] } };
  }
  for (const pending of group.retries) {
    yield { ...nothing, retries: [pending], batch: { ...empty, retries: [pending.retry] } };
  }
  for (const pending of group.settlements) {
    yield { ...nothing, settlements: [pending], batch: { ...empty, settlements: [pending.settlement] } };
  }
}

/** The commands that can be composed; the callers of the others get the error. */
export function composed(taken: readonly PendingPublish[]): {
  readonly publishes: PendingPublish[];
  readonly commands: PublishCommand[];
} {
  const publishes: PendingPublish[] = [];
  const commands: PublishCommand[] = [];
  for (const pending of taken) {
    try {
      commands.push(pending.compose());
      publishes.push(pending);
    } catch (error) {
      pending.done(errorOf(error));
    }
  }
  return { publishes, commands };
}
