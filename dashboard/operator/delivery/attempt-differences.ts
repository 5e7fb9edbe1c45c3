import type { Attempt } from "../../shared/resources.ts";
import { duration } from "../../shared/format.ts";
import { outcomeText, timingsText } from "./wording.ts";

/** A field with different values in two attempts. Null if an attempt has no value. */
export interface AttemptDifference {
  readonly name: string;
  readonly one: string | null;
  readonly other: string | null;
}

/**
 * In display order, with one entry per response header. A detail that is stored for only one attempt is not a
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

/** Connection, configuration and headers are stored for each attempt that was not accepted, and for some others. */
export function hasDetails({ response_headers: headers }: Attempt): boolean {
  return headers !== null;
}

type Texts = ReadonlyMap<string, string | null>;

function textsOf(attempt: Attempt): Texts {
  const { http_status_code: status, retry_after: retryAfter } = attempt;
  return new Map([
    ["Sent", attempt.executed_at],
    ["Duration", duration(attempt.duration_ms)],
    ["Status", status === null ? "no response" : String(status)],
    ["Outcome", outcomeText(attempt)],
    ["Error", attempt.error_message],
    ["Retry-After", retryAfter?.value ?? null],
    ["Response body", attempt.response_body_sample],
  ]);
}

function detailsOf(attempt: Attempt): Texts {
  const { http_version: version, config_revision: revision } = attempt;
  return new Map([
    ["Connected to", attempt.peer_address],
    ["Protocol", version === null ? null : `HTTP/${version}`],
    ["Timings", timingsText(attempt) || null],
    ["Configuration", revision === null ? null : `revision ${revision}`],
    ...headerTexts(attempt),
  ]);
}

/** Joins the values of repeated headers. */
function headerTexts({ response_headers: headers }: Attempt): readonly (readonly [string, string])[] {
  const byName = Map.groupBy(headers ?? [], ({ name }) => `Header ${name.toLowerCase()}`);
  return [...byName].map(([name, same]) => [name, same.map(({ value }) => value).join(", ")] as const);
}
