/** What publishers say beside the type and the data. The rest of an event is read by hand, for speed. */
import { priorities } from "../delivery.ts";
import { choice, line, word } from "./field.ts";
import type { Fields } from "./field.ts";

export const eventFields = {
  source: line({
    lengthMin: 1,
    lengthMax: 255,
    doc: "Which application published it.",
    examples: ["shop"],
  }),
  idempotencyKey: word({
    lengthMax: 255,
    pattern: "^[\\u0020-\\u007e]+$",
    rule: "printable ASCII characters",
    doc: "Within 24 hours the same key with the same event answers as the first time, with `duplicate: true`; with another event it is refused.",
    examples: ["order-4711-completed"],
  }),
  priority: choice(priorities, {
    default: "normal",
    doc: "High priority is delivered first when there is a backlog.",
  }),
} satisfies Fields;
