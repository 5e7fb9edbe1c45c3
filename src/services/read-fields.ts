import type { Field, Fields, InputOf } from "../core/fields/field.ts";
import { apiPath } from "../core/fields/field.ts";
import { judgeField } from "../core/fields/judge.ts";
import type { ProblemList } from "./problem-list.ts";

/**
 * Returns the valid fields of an input. Invalid ones are reported under their API path and omitted, so that later code
 * never meets a value of the wrong type.
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
      if (isNeeded(field, use)) problems.add({ field: path, message: "is required" });
      continue;
    }
    const found = judgeField(field, { path, value });
    for (const problem of found) problems.add(problem);
    if (found.length === 0) read[name] = value;
  }
  return read as InputOf<F>;
}

function isNeeded(field: Field, use: "create" | "update"): boolean {
  return field.isRequired || (use === "create" && field.isRequiredToCreate);
}
