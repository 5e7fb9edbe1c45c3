import type { Source } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { When } from "../../shared/ui/when.tsx";
import { outcomeOf, outcomes } from "./wording.ts";

/** Outcomes of the last 100 requests: `97 accepted, 3 rejected`. */
export function RecentOutcomes({ source: { id, recent } }: { readonly source: Source }) {
  if (recent === undefined || recent === null) return null;
  const counted = outcomes.filter((outcome) => recent[outcome] > 0);
  if (counted.length === 0) return <span class="soft">none</span>;
  return (
    <a href={`${pagePath("requests")}?source_id=${id}`}>
      {counted.map((outcome) => `${recent[outcome]} ${outcomeOf(outcome).text}`).join(", ")}
    </a>
  );
}

export function LastMessage({ source: { recent } }: { readonly source: Source }) {
  return <When at={recent?.last_received_at ?? null} />;
}
