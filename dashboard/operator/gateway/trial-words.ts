/** Texts for the results of filter trials. */
import type { FilterEvaluation, FilterTraceStep } from "../../shared/resources.ts";

const expectations: Readonly<Record<string, string>> = {
  $eq: "must be",
  $neq: "must not be",
  $in: "must be one of",
  $nin: "must not be one of",
  $gt: "must be more than",
  $gte: "must be at least",
  $lt: "must be less than",
  $lte: "must be at most",
  $startsWith: "must start with",
  $endsWith: "must end with",
};

/** Expected and actual value of a condition, shown after its path. */
export function conditionInWords(step: FilterTraceStep): string {
  const { operator, expected } = step;
  if (operator === "$or") return "at least one of its rules must be true";
  if (operator === "$not") return "its rule must be false";
  return `${expectation(operator, expected)}, ${finding(step)}`;
}

function expectation(operator: string, expected: string | null): string {
  if (operator === "$exist") return expected === "true" ? "must be present" : "must be absent";
  return `${expectations[operator] ?? operator} ${expected ?? ""}`;
}

function finding({ operator, actual, unknown }: FilterTraceStep): string {
  if (unknown === "not_kept") return "is not stored";
  if (unknown === "masked") return operator === "$exist" ? "is present" : "is masked in the log";
  if (actual === null) return "is missing";
  return operator === "$exist" ? "is present" : `is ${actual}`;
}

/** Result for one message, shown after its name. */
export function verdictInWords({ matches = null, rule = null }: FilterEvaluation): string {
  if (matches === null)
    return "the result is unknown, because it depends on data that the log does not store.";
  return matches ? "it would be forwarded." : `it would be filtered out by ${rule ?? ""}.`;
}

/** Result for many requests, followed by those that were not evaluated. */
export function countInWords(found: FilterEvaluation): string {
  const { matched = 0, examined = 0, not_examined: untold = 0, not_routed: unrouted = 0 } = found;
  const looked = examined + untold + unrouted;
  if (looked === 0) return "This source has received no requests yet.";
  return [
    `${matched} of the last ${looked} would be forwarded.`,
    ...(untold > 0
      ? [`${untold} are unknown, because they depend on data that the log does not store.`]
      : []),
    ...(unrouted > 0 ? [`${unrouted} did not reach a filter: rejected, duplicate, or address check.`] : []),
  ].join(" ");
}
