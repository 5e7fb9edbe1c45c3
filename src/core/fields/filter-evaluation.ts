/** A filter that is tried on messages before anybody saves it. */
import { connectionFields } from "./connection.ts";
import { anyJson, headers, id, integer, line, nullable, object, required } from "./field.ts";
import type { Fields, InputOf } from "./field.ts";

export const evaluatedMessageFields = {
  headers: headers({
    countMax: 200,
    valueLengthMax: 16_384,
    doc: "Names in any case; a filter sees them in lower case.",
  }),
  query: headers({ countMax: 200, valueLengthMax: 8_192, doc: "Parameters by name." }),
  path: line({ lengthMax: 8_192, doc: "What stands behind the address of the source, such as `/orders`." }),
  body: nullable(
    anyJson({
      doc: "Any JSON. A text is taken as the body itself and read like one that was received: as JSON where it is JSON, otherwise a filter sees nothing of it. Left out: no body.",
    }),
  ),
} satisfies Fields;

export const filterEvaluationFields = {
  filter: required({ ...connectionFields.filter, isNullable: false }),
  requestId: id({ doc: "Looks at this request of the log." }),
  sourceId: id({ doc: "Looks at the newest requests of this source." }),
  last: integer({ min: 1, max: 1_000, default: 100, doc: "With `source_id`: how many of them." }),
  message: object(evaluatedMessageFields, {
    title: "EvaluatedMessage",
    doc: "Looks at this message. Of `request_id`, `source_id` and `message` exactly one is given.",
  }),
} satisfies Fields;
export type FilterEvaluationInput = InputOf<typeof filterEvaluationFields>;
