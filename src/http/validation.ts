/**
 * Validates requests against their schemas. The quick check stops at the first error, so only invalid requests pay for
 * a complete one.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { FieldError } from "../domain/errors.ts";
import { isUuid } from "../domain/uuid.ts";
import type { Schema } from "../resources/schema.ts";
import { isDateTime, parseInstant } from "./mapping.ts";
import { describeFieldErrors } from "./problems.ts";

/** Null if valid. Converts query and path values from text in place, as the schema requires. */
export type Validator = (value: unknown) => readonly FieldError[] | null;

export type ValueSource = "body" | "query" | "path";

export function compileValidator(schema: Schema, source: ValueSource): Validator {
  // Compiled on first use: compiling all at once would take longer than the rest of the start.
  let quick: ValidateFunction | undefined;
  let thorough: ValidateFunction | undefined;
  return (value) => {
    quick ??= createAjv(source, { allErrors: false }).compile(schema);
    if (quick(value)) return null;
    thorough ??= createAjv(source, { allErrors: true }).compile(schema);
    thorough(value);
    // Coercion may have made the value valid in the meantime; then report the first error.
    return describeFieldErrors(thorough.errors ?? quick.errors ?? []);
  };
}

function createAjv(source: ValueSource, { allErrors }: { readonly allErrors: boolean }): Ajv2020 {
  const ajv = new Ajv2020({
    logger: false,
    allErrors,
    verbose: allErrors,
    strict: false,
    // The schemas are our own, and tests check them. Checking them here would compile the meta-schema for each, which
    // takes ten times as long as everything else.
    meta: false,
    validateSchema: false,
    coerceTypes: source === "body" ? false : "array",
    ownProperties: true,
    formats: {
      "date-time": isDateTime,
      uuid: isUuid,
      instant: (text: string) => parseInstant(text) !== null,
    },
  });
  ajv.addKeyword("x-rule");
  return ajv;
}
