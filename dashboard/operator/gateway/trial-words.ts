/** Sentences about a filter that was tried. */
import type { FilterEvaluation, FilterTraceStep } from "../../shared/resources.ts";

const expectations: Readonly<Record<string, string>> = {
  $eq: "has to be",
  $neq: "must not be",
  $in: "has to be one of",
  $nin: "must be none of",
  $gt: "has to be more than",
  $gte: "has to be at least",
  $lt: "has to be less than",
  $lte: "has to be at most",
  $startsWith: "has to begin with",
  $endsWith: "has to end with",
};

/** Behind the place of the condition: what has to be there, and what is. */
export function conditionInWords(step: FilterTraceStep): string {
  const { operator, expected } = step;
  if (operator === "$or") return "one of the rules in it has to hold";
  if (operator === "$not") return "the rule in it must not hold";
  return `${expectation(operator, expected)}, and ${finding(step)}`;
}

function expectation(operator: string, expected: string | null): string {
  if (operator === "$exist") return expected === "true" ? "has to be there" : "must not be there";
  return `${expectations[operator] ?? operator} ${expected ?? ""}`;
}

function finding({ operator, actual, unknown }: FilterTraceStep): string {
  if (unknown === "not_kept") return "is not kept (any more)";
  if (unknown === "masked") return operator === "$exist" ? "is there" : "is masked in the log";
  if (actual === null) return "is not there";
  return operator === "$exist" ? "is there" : `is ${actual}`;
}

/** Of one message, behind its name. */
export function verdictInWords({ matches = null, rule = null }: FilterEvaluation): string {
  if (matches === null) return "it cannot be told, because that depends on what the log does not have.";
  return matches ? "it would be sent on." : `it would be left out, by ${rule ?? ""}.`;
}

/** Of many requests; the first sentence says it, the others what is not counted in it. */
export function countInWords(found: FilterEvaluation): string {
  const { matched = 0, examined = 0, not_examined: untold = 0, not_routed: unrouted = 0 } = found;
  const looked = examined + untold + unrouted;
  if (looked === 0) return "Nothing came to this source yet.";
  return [
    `${matched} of the last ${looked} would be sent on.`,
    ...(untold > 0
      ? [`Of ${untold} it cannot be told: the log does not have (any more) what it depends on.`]
      : []),
    ...(unrouted > 0 ? [`${unrouted} met no filter: rejected, repeats, or checks of the address.`] : []),
  ].join(" ");
}
