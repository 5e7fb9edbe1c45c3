/** Wording for bulk operations. */
import { plural, shortSpan } from "../../shared/format.ts";
import type { Operation } from "../../shared/resources.ts";

const kindTexts: Readonly<Record<string, string>> = {
  retry: "Retry deliveries",
  cancel: "Cancel deliveries",
  discard: "Discard dead letters",
  dlq_retry: "Retry dead letters",
  recover: "Recover webhook",
};

export function kindText(kind: string): string {
  return kindTexts[kind] ?? kind;
}

export function isOver({ status }: Pick<Operation, "status">): boolean {
  return status === "completed" || status === "cancelled" || status === "failed";
}

const exclusionTexts: Readonly<Record<string, string>> = {
  in_flight: "a request is in flight",
  payload_gone: "retention removed the payload",
  order: "they wait for an earlier delivery",
  accepted: "they were accepted",
  already_retried: "this operation retried them before it was interrupted",
  already_ended: "they have already ended",
  not_a_dead_letter: "they are not dead letters",
  webhook_deleted: "the webhook was deleted",
  not_found: "they no longer exist",
};

/** Reasons for skipped deliveries, most frequent first. */
export function exclusionsOf(
  counts: Readonly<Record<string, number>>,
): readonly { readonly count: number; readonly text: string }[] {
  return Object.entries(counts)
    .map(([reason, count]) => ({ count, text: exclusionTexts[reason] ?? reason.replaceAll("_", " ") }))
    .toSorted((left, right) => right.count - left.count);
}

/** Progress as text, such as `4,210 of 8,412`. If counting stopped at its limit, the total is a lower bound. */
export function progressText({ done, total, total_is_exact }: ProgressFacts): string {
  return `${countText(done)} of ${countText(total)}${total_is_exact ? "" : " or more"}`;
}

type ProgressFacts = Pick<Operation, "done" | "total" | "total_is_exact">;

export function countText(count: number): string {
  return count.toLocaleString("en");
}

export function deliveriesText(count: number): string {
  return `${countText(count)} ${plural(count, "delivery", "deliveries")}`;
}

/** Estimated duration, if known. */
export function estimateText(seconds: number | null): string {
  if (seconds === null) return "an unknown time";
  return seconds < 1 ? "less than a second" : `about ${shortSpan(Math.ceil(seconds) * 1_000)}`;
}

/** One string for each condition of the filter, such as `status: exhausted`. */
export function filterTexts(filter: Operation["filter"]): readonly string[] {
  return Object.entries(filter).map(([name, value]) => {
    const text = Array.isArray(value) ? value.join(", ") : String(value);
    return `${name.replaceAll("_", " ")}: ${text}`;
  });
}
