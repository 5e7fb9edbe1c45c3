import { type Loaded, useApi } from "../../shared/queries.ts";
import type { DeliveryProblem, Page } from "../../shared/resources.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";

/** Maximum number of problems per call. If a response has this many, the total may be higher. */
export const openProblemsMax = 50;
const openProblemsQuery = { state: ["open", "recovering"], limit: openProblemsMax };

/** Loads the open problems. Several components share the call. */
export function useOpenProblems(): Loaded<Page<DeliveryProblem>> {
  return useApi<Page<DeliveryProblem>>(
    { path: "v1/problems", query: openProblemsQuery },
    { news: "problems" },
  );
}

const tones: Readonly<Record<DeliveryProblem["state"], Tone>> = {
  open: "bad",
  recovering: "wait",
  resolved: "good",
  muted: "off",
};

export function ProblemBadge({ state }: { readonly state: DeliveryProblem["state"] }) {
  return <Badge tone={tones[state]} text={state} />;
}

/** The title without the remedy. */
export function headlineOf({ title, remedy }: Pick<DeliveryProblem, "title" | "remedy">): string {
  const sentence = title.endsWith(remedy) ? title.slice(0, -remedy.length).trim() : title;
  return sentence.replace(/\.$/, "");
}
