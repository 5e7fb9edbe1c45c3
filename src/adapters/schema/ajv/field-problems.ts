import type { ErrorObject } from "ajv/dist/2020.js";
import type { FieldProblem } from "../../../ports/schema-compiler.ts";

/** Limit per value. */
const fieldProblemsMax = 10;
/** Names come from the data, where a name may have a megabyte. */
const fieldLengthMax = 200;

/**
 * Turns ajv's errors into problems with paths such as `data.order.items[2].id`. Messages may quote the schema, but
 * never the data.
 */
export function toFieldProblems(
  errors: readonly ErrorObject[],
  name: string,
  value: unknown,
): readonly FieldProblem[] {
  const problems = new Map<string, FieldProblem>();
  for (const error of errors) {
    const path = pathOf(error, { name, value });
    const field = path.length > fieldLengthMax ? `${path.slice(0, fieldLengthMax)}…` : path;
    const message = messageOf(error);
    problems.set(`${field} ${message}`, { field, message });
    if (problems.size === fieldProblemsMax) break;
  }
  return [...problems.values()];
}

/** For a missing or unexpected property, name the property, not its object. */
function pathOf(error: ErrorObject, root: { readonly name: string; readonly value: unknown }): string {
  let path = root.name;
  let value: unknown = root.value;
  for (const segment of error.instancePath.split("/").slice(1).map(unescapePointer)) {
    path += Array.isArray(value) ? `[${segment}]` : `.${segment}`;
    value =
      typeof value === "object" && value !== null
        ? (value as Readonly<Record<string, unknown>>)[segment]
        : undefined;
  }
  const { missingProperty, additionalProperty, unevaluatedProperty } = error.params as Readonly<
    Record<string, unknown>
  >;
  const named = missingProperty ?? additionalProperty ?? unevaluatedProperty ?? error.propertyName;
  return typeof named === "string" ? `${path}.${named}` : path;
}

function messageOf(error: ErrorObject): string {
  switch (error.keyword) {
    case "required":
    case "dependentRequired":
      return "is required";
    case "additionalProperties":
    case "unevaluatedProperties":
    case "false schema":
      return "is not allowed";
    case "enum":
      return "must be one of the allowed values";
    case "uniqueItems":
      return "must not have duplicate items";
    case "pattern":
      return "does not match the pattern of the schema";
    default:
      return error.message ?? "does not match the schema";
  }
}

function unescapePointer(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}
