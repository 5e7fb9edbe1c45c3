/** Input for testing a filter on messages before it is saved. */
import { connectionFields } from "./connection.ts";
import { anyJson, headers, id, integer, line, nullable, object, required } from "./field.ts";
import type { Fields, InputOf } from "./field.ts";

export const evaluatedMessageFields = {
  headers: headers({
    countMax: 200,
    valueLengthMax: 16_384,
    doc: "Names in any case; filters see them in lower case.",
  }),
  query: headers({ countMax: 200, valueLengthMax: 8_192, doc: "Parameters by name." }),
  path: line({ lengthMax: 8_192, doc: "The path after the address of the source, such as `/orders`." }),
  body: nullable(
    anyJson({
      doc: "Any JSON. A string is treated as the raw body: it is parsed if it is valid JSON, otherwise filters cannot see into it. If omitted, there is no body.",
    }),
  ),
} satisfies Fields;

export const filterEvaluationFields = {
  filter: required({ ...connectionFields.filter, isNullable: false }),
  requestId: id({ doc: "Evaluates this request of the log." }),
  sourceId: id({ doc: "Evaluates the newest requests of this source." }),
  last: integer({
    min: 1,
    max: 1_000,
    default: 100,
    doc: "With `source_id`: how many requests to evaluate.",
  }),
  message: object(evaluatedMessageFields, {
    title: "EvaluatedMessage",
    doc: "Evaluates this message. Give exactly one of `request_id`, `source_id` and `message`.",
  }),
} satisfies Fields;
export type FilterEvaluationInput = InputOf<typeof filterEvaluationFields>;
