import { useApi, type Loaded } from "../../shared/queries.ts";
import type { DeliveryProblem, Page } from "../../shared/resources.ts";

/** Of one answer; with so many the number is "or more". */
export const openProblemsMax = 50;
const openProblemsQuery = { state: ["open", "recovering"], limit: openProblemsMax };

/** Those that somebody should look at. Several parts of the page show them; they are asked for once. */
export function useOpenProblems(): Loaded<Page<DeliveryProblem>> {
  return useApi<Page<DeliveryProblem>>(
    { path: "v1/problems", query: openProblemsQuery },
    { news: "problems" },
  );
}
