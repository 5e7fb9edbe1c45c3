/** What publishers say beside the type and the data. The rest of an event is read by hand, for speed. */
import { priorities } from "../delivery.ts";
import { traceStateLengthMax } from "../tracing/trace-context.ts";
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

/** What comes beside an event: in headers of the API, in options of the library. */
export const traceFields = {
  traceparent: word({
    lengthMax: 128,
    pattern: "^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)",
    rule: "a traceparent of W3C Trace Context",
    doc: "Where in the publisher's trace it happens. Sent on with every request, with a span id of its own.",
    examples: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
  }),
  tracestate: line({
    lengthMin: 1,
    lengthMax: traceStateLengthMax,
    doc: "What vendors keep beside `traceparent`. Sent on to webhooks that agreed to it.",
    examples: ["congo=t61rcWkgMzE"],
  }),
} satisfies Fields;
