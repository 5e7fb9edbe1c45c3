import { type FieldError, InvalidRequestError } from "../domain/errors.ts";
import type { RateLimitConfig } from "../domain/profile.ts";
import {
  apiPath,
  defaultOf,
  type Field,
  type Fields,
  type InputOf,
  judgeField,
  missing,
  type StoredOf,
} from "../resources/field.ts";
import { rateLimitFields, type RateLimitInput } from "../resources/names.ts";

/** Merges a rate limit. `null` removes the limit; an omitted burst keeps its value. */
export function mergeRateLimit(
  base: RateLimitConfig | null,
  change: RateLimitInput | null | undefined,
): RateLimitConfig | null {
  if (change === undefined) return base;
  return change && { ...change, burst: change.burst ?? base?.burst ?? defaultOf(rateLimitFields.burst) };
}

/**
 * Collects all problems of a request, so that the caller can fix them together. Field names are API paths; messages
 * never contain values.
 */
export class ProblemList {
  readonly #problems: FieldError[] = [];

  get isEmpty(): boolean {
    return this.#problems.length === 0;
  }

  add(problem: FieldError): void {
    this.#problems.push(problem);
  }

  /**
   * Reports fields that contradict each other, with one problem per field. `message` continues a sentence that starts
   * with the field.
   */
  contradiction(fields: readonly string[], message: string): void {
    for (const field of fields) this.add({ field, message });
  }

  /** Throws if there are problems. `what` starts the sentence, such as `the webhook`. */
  throwIfAny(what: string): void {
    if (this.isEmpty) return;
    const names = this.#problems.slice(0, fieldsNamedMax).map((problem) => problem.field);
    const more = this.#problems.length > fieldsNamedMax ? ", …" : "";
    throw new InvalidRequestError(`${what} is not valid: ${names.join(", ")}${more}`, this.#problems);
  }

  /** Returns the value if it is allowed. Otherwise, reports a problem and returns null. */
  oneOf<Choice extends string>(
    field: string,
    choice: { readonly value: unknown; readonly allowed: readonly Choice[] },
  ): Choice | null {
    const found = choice.allowed.find((allowed) => allowed === choice.value);
    if (found === undefined) this.add({ field, message: `must be one of ${choice.allowed.join(", ")}` });
    return found ?? null;
  }
}

const fieldsNamedMax = 5;

/**
 * Returns the valid fields of an input. Invalid fields are reported under their API path and omitted, so that later
 * code never receives a value of the wrong type.
 */
export function readFields<F extends Fields>(
  fields: F,
  given: object,
  problems: ProblemList,
  use: "create" | "update" = "update",
): InputOf<F> {
  const read: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const value = (given as Readonly<Record<string, unknown>>)[name];
    const path = apiPath(name, field);
    if (value === undefined) {
      if (isNeeded(field, use)) problems.add({ field: path, message: missing });
      continue;
    }
    const found = judgeField(field, path, value);
    for (const problem of found) problems.add(problem);
    if (found.length === 0) read[name] = value;
  }
  return read as InputOf<F>;
}

/** Returns the valid input; throws if a field is not valid. `what` starts the sentence, such as `the pause`. */
export function validFields<F extends Fields>(fields: F, given: object, what: string): InputOf<F> {
  const problems = new ProblemList();
  const read = readFields(fields, given, problems);
  problems.throwIfAny(what);
  return read;
}

/** The stored values of these fields. An omitted field gets its default, or null if it has no default. */
export function withDefaults<F extends Fields>(fields: F, given: InputOf<F>): StoredOf<F> {
  const values = given as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, values[name] ?? field.default ?? null]),
  ) as StoredOf<F>;
}

function isNeeded(field: Field, use: "create" | "update"): boolean {
  return field.isRequired || (use === "create" && field.isRequiredToCreate);
}
