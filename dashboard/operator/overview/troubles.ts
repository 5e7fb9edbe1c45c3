/** A webhook that needs attention, with the reasons. */
import type { Delivery, DeliveryProblem, Webhook } from "../../shared/resources.ts";

export interface Trouble {
  readonly webhookId: string;
  /** Null if not in the loaded data. */
  readonly url: string | null;
  /** Deliveries that are waiting after a failure. */
  readonly waiting: readonly Delivery[];
  /** Number of dead letters. */
  readonly deadCount: number;
  readonly problems: readonly DeliveryProblem[];
  readonly inactive: Pick<Webhook, "status" | "status_reason"> | null;
  /** Null if not in the loaded data. */
  readonly health: Webhook["health"] | null;
}

/** Suspended webhooks first, then by the number of waiting deliveries and dead letters. */
export function troublesOf(given: {
  readonly waiting: readonly Delivery[];
  readonly inactive: readonly Webhook[];
  readonly deadLetters: readonly Delivery[];
  readonly problems: readonly DeliveryProblem[];
}): readonly Trouble[] {
  const waiting = Map.groupBy(given.waiting, ({ webhook_id }) => webhook_id);
  const dead = Map.groupBy(given.deadLetters, ({ webhook_id }) => webhook_id);
  const problems = Map.groupBy(given.problems, ({ webhook_id }) => webhook_id);
  const inactive = new Map(given.inactive.map((webhook) => [webhook.id, webhook]));
  const ids = new Set([...inactive.keys(), ...waiting.keys(), ...dead.keys(), ...problems.keys()]);
  const weight = ({ waiting: rows, deadCount, inactive: off }: Trouble) =>
    (off?.status === "suspended" ? 1_000 : 0) + rows.length + deadCount;
  return [...ids]
    .map((webhookId) => ({
      webhookId,
      url: inactive.get(webhookId)?.url ?? waiting.get(webhookId)?.[0]?.webhook?.url ?? null,
      waiting: waiting.get(webhookId) ?? [],
      deadCount: dead.get(webhookId)?.length ?? 0,
      problems: problems.get(webhookId) ?? [],
      inactive: inactive.get(webhookId) ?? null,
      health: inactive.get(webhookId)?.health ?? waiting.get(webhookId)?.[0]?.webhook?.health ?? null,
    }))
    .toSorted((left, right) => weight(right) - weight(left));
}
