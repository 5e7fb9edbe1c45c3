import type { ListedWebhook } from "../../shared/resources.ts";
import { duration } from "../../shared/format.ts";
import { When } from "../../shared/ui/when.tsx";

/** Number of waiting deliveries, and the age of the oldest. */
export function WaitingText({ backlog }: { readonly backlog: ListedWebhook["backlog"] | null }) {
  if (backlog === null || backlog === undefined) return "?";
  const { total, more, oldest_created_at: oldest } = backlog;
  if (total === 0) return "0";
  return (
    <>
      {`${total.toLocaleString()}${more ? "+" : ""}`} <span class="soft">since</span> <When at={oldest} />
    </>
  );
}

/** Rounded up, so that a failure never shows as 0 %. */
export function failedText(rate: number | null): string {
  return rate === null ? "–" : `${(Math.ceil(rate * 1_000) / 10).toLocaleString()} %`;
}

export function durationText(ms: number | null): string {
  return ms === null ? "–" : duration(ms);
}
