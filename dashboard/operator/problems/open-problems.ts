import { useApi, type Loaded } from "../../shared/queries.ts";
import type { DeliveryProblem, Page } from "../../shared/resources.ts";

/** Maximum per call. At this count, the number is a lower bound. */
export const openProblemsMax = 50;
const openProblemsQuery = { state: ["open", "recovering"], limit: openProblemsMax };

/** Open problems. Several components share the call. */
export function useOpenProblems(): Loaded<Page<DeliveryProblem>> {
  return useApi<Page<DeliveryProblem>>(
    { path: "v1/problems", query: openProblemsQuery },
    { news: "problems" },
  );
}
