import { type DeliveryState, waitingStates } from "../../domain/delivery.ts";
import type { DeliveryView } from "../../engine/endpoint/explain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import {
  type BatchOperation,
  type Exclusion,
  isAtRest,
  type OperationKind,
  type OperationOutcome,
  type OperationSelection,
} from "../../ports/store/operations.ts";

type BulkAction = "retry" | "cancel" | "discard";

export function actionOf(kind: OperationKind): BulkAction {
  return kind === "cancel" || kind === "discard" ? kind : "retry";
}

/** A delivery, with everything that decides whether it is included. */
interface Candidate {
  readonly view: DeliveryView;
  readonly hasWebhook: boolean;
  readonly isPayloadGone: boolean;
  /** The operation had already processed it before it was interrupted. */
  readonly isDone: boolean;
}

/** Why an action skips a delivery; null if it does not. */
export function exclusionOf(
  { view, hasWebhook, isPayloadGone, isDone }: Candidate,
  by: { readonly action: BulkAction; readonly selection: OperationSelection },
): Exclusion | null {
  const { progress, lane } = view.delivery;
  const waits = waitingStates.some((state) => state === progress.state);
  const isInFlight = view.waitingFor === "in_flight";
  if (by.action === "discard") return progress.state === "exhausted" ? null : "not_a_dead_letter";
  if (by.action === "cancel") {
    if (!waits) return "already_ended";
    return isInFlight ? "in_flight" : null;
  }
  if (isDone) return "already_retried";
  if (isInFlight) return "in_flight";
  if (!hasWebhook) return "webhook_deleted";
  if (progress.state === "success" && !takesAccepted(by.selection)) return "accepted";
  if (waits && lane.ordering !== "none") return "order";
  return isPayloadGone ? "payload_gone" : null;
}

/** Successful deliveries are sent again only if the selection explicitly includes them. */
function takesAccepted(selection: OperationSelection): boolean {
  switch (selection.kind) {
    case "search":
      return selection.statuses?.includes("success") ?? false;
    case "deliveries":
      return selection.states?.includes("success") ?? false;
    default:
      return true;
  }
}

interface Counted {
  readonly outcome: OperationOutcome;
  readonly validUntilMs: number;
}

const rowsAtOnce = 2_000;
/** Pages reload operations every second; counting more often is pointless. */
const validMsMin = 1_000;
/** A count stays valid for this multiple of the time it took. */
const validShare = 10;
const keptMax = 1_000;

/** Counts the outcomes of deliveries that an operation sent again, and caches them briefly. */
export class OperationOutcomes {
  readonly #history: Pick<HistoryStore, "sentByOperation">;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #counted = new Map<string, Counted>();

  constructor(history: Pick<HistoryStore, "sentByOperation">, clock: Pick<Clock, "monotonicMs">) {
    this.#history = history;
    this.#clock = clock;
  }

  /** The operation with its current outcome. The stored outcome of a finished operation no longer changes. */
  async shown(operation: BatchOperation): Promise<BatchOperation> {
    const isKept = isAtRest(operation) && operation.outcome !== null && operation.outcome.waiting === 0;
    if (isKept || actionOf(operation.kind) !== "retry") return operation;
    return { ...operation, outcome: await this.#outcomeOf(operation) };
  }

  async #outcomeOf({ id, queued }: BatchOperation): Promise<OperationOutcome> {
    if (queued === 0) return { delivered: 0, failed: 0, waiting: 0 };
    const known = this.#counted.get(id);
    const begunMs = this.#clock.monotonicMs();
    if (known !== undefined && known.validUntilMs > begunMs) return known.outcome;
    const outcome = await countSent(this.#history, id);
    const nowMs = this.#clock.monotonicMs();
    const validUntilMs = nowMs + Math.max(validMsMin, validShare * (nowMs - begunMs));
    this.#counted.delete(id);
    this.#counted.set(id, { outcome, validUntilMs });
    const [oldest] = this.#counted.keys();
    if (this.#counted.size > keptMax && oldest !== undefined) this.#counted.delete(oldest);
    return outcome;
  }
}

/** Counts the outcomes of all deliveries that an operation sent again, regardless of the operation's counters. */
export async function countSent(
  history: Pick<HistoryStore, "sentByOperation">,
  operationId: string,
): Promise<OperationOutcome> {
  const total = { delivered: 0, failed: 0, waiting: 0 };
  let after: number | null = null;
  do {
    const page = await history.sentByOperation({ operationId, after, limit: rowsAtOnce });
    for (const [state, count] of Object.entries(page.states)) total[fateOf(state as DeliveryState)] += count;
    after = page.next;
  } while (after !== null);
  return total;
}

function fateOf(state: DeliveryState): keyof OperationOutcome {
  if (state === "success") return "delivered";
  return waitingStates.some((each) => each === state) ? "waiting" : "failed";
}
