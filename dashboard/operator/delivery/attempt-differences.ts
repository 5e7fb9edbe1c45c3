import type { Attempt } from "../../shared/resources.ts";
import { duration } from "../../shared/time/time-format.ts";
import { outcomeText, timingsText } from "./wording.ts";

/** What two attempts do not have in common. Null where one has nothing to show. */
export interface AttemptDifference {
  readonly name: string;
  readonly one: string | null;
  readonly other: string | null;
}

/**
 * In the order in which an attempt is shown; headers of the answers one by one. What was kept of one of them alone is no
 * difference.
 */
export function differencesBetween(one: Attempt, other: Attempt): readonly AttemptDifference[] {
  const withDetails = hasDetails(one) && hasDetails(other);
  const shown = (attempt: Attempt): Texts =>
    new Map([...textsOf(attempt), ...(withDetails ? detailsOf(attempt) : [])]);
  const [ofOne, ofOther] = [shown(one), shown(other)];
  const names = [...new Set([...ofOne.keys(), ...ofOther.keys()])];
  return names
    .map((name) => ({ name, one: ofOne.get(name) ?? null, other: ofOther.get(name) ?? null }))
    .filter((difference) => difference.one !== difference.other);
}

/** Connection, configuration and headers are kept of each attempt that was not accepted, and of some of the others. */
export function hasDetails({ response_headers: headers }: Attempt): boolean {
  return headers !== null;
}

type Texts = ReadonlyMap<string, string | null>;

function textsOf(attempt: Attempt): Texts {
  const { http_status_code: status, retry_after: retryAfter } = attempt;
  return new Map([
    ["Sent", attempt.executed_at],
    ["Took", duration(attempt.duration_ms)],
    ["Status", status === null ? "no answer" : String(status)],
    ["Outcome", outcomeText(attempt)],
    ["Error", attempt.error_message],
    ["Retry-After", retryAfter?.value ?? null],
    ["Body of the answer", attempt.response_body_sample],
  ]);
}

function detailsOf(attempt: Attempt): Texts {
  const { http_version: version, config_revision: revision } = attempt;
  return new Map([
    ["Connected to", attempt.peer_address],
    ["Protocol", version === null ? null : `HTTP/${version}`],
    ["Spent on", timingsText(attempt) || null],
    ["Configuration", revision === null ? null : `revision ${revision}`],
    ...headerTexts(attempt),
  ]);
}

/** A name that comes several times has all of its values. */
function headerTexts({ response_headers: headers }: Attempt): readonly (readonly [string, string])[] {
  const byName = Map.groupBy(headers ?? [], ({ name }) => `Header ${name.toLowerCase()}`);
  return [...byName].map(([name, same]) => [name, same.map(({ value }) => value).join(", ")] as const);
}
