import { waitingStates } from "../../core/delivery.ts";
import type { Exclusion, OperationKind, OperationSelection } from "../../ports/store/operations.ts";
import type { DeliveryView } from "../../engine/endpoint/explain.ts";

export type BulkAction = "retry" | "cancel" | "discard";

export function actionOf(kind: OperationKind): BulkAction {
  return kind === "cancel" || kind === "discard" ? kind : "retry";
}

/** A delivery, with everything that decides whether it is included. */
export interface Candidate {
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
