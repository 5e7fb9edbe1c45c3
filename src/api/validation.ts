/** Requests against their schemas. The quick check stops at the first error; only a bad request pays for all. */
import { Ajv2020 } from "ajv/dist/2020.js";
import type { ValidateFunction } from "ajv/dist/2020.js";
import type { Schema } from "./schemas/type.ts";
import type { FieldError } from "../core/errors.ts";
import { isUuid } from "../core/uuid.ts";
import { isDateTime, parseInstant } from "./mapping/instant.ts";
import { describeFieldErrors } from "./field-errors.ts";

/** Null when valid. Query and path values are coerced in place from text to what the schema asks for. */
export type Validator = (value: unknown) => readonly FieldError[] | null;

export type ValueSource = "body" | "query" | "path";

export function compileValidator(schema: Schema, source: ValueSource): Validator {
  // Compiled when first needed: all of them at once would take longer than the rest of the start.
  let quick: ValidateFunction | undefined;
  let thorough: ValidateFunction | undefined;
  return (value) => {
    quick ??= createAjv(source, { allErrors: false }).compile(schema);
    if (quick(value)) return null;
    thorough ??= createAjv(source, { allErrors: true }).compile(schema);
    thorough(value);
    // Coercion may have made it valid on the way; then the first finding has to do.
    return describeFieldErrors(thorough.errors ?? quick.errors ?? []);
  };
}

function createAjv(source: ValueSource, { allErrors }: { readonly allErrors: boolean }): Ajv2020 {
  const ajv = new Ajv2020({
    logger: false,
    allErrors,
    verbose: allErrors,
    strict: false,
    // These schemas are ours, and the tests check them. To check them here would compile the meta-schema first, for each
    // of them, which takes ten times as long as all else.
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
