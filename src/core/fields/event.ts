/**
 * Optional fields of a publish request besides the type and the data. The rest is read by hand-written code, for speed.
 */
import { priorities } from "../delivery.ts";
import { traceStateLengthMax } from "../tracing/trace-context.ts";
import { choice, line, word } from "./field.ts";
import type { Fields } from "./field.ts";

export const eventFields = {
  source: line({
    lengthMin: 1,
    lengthMax: 255,
    doc: "Application that published the event.",
    examples: ["shop"],
  }),
  idempotencyKey: word({
    lengthMax: 255,
    pattern: "^[\\u0020-\\u007e]+$",
    rule: "printable ASCII characters",
    doc: "Within 24 hours, the same key with the same event returns the first result with `duplicate: true`; the same key with another event is refused.",
    examples: ["order-4711-completed"],
  }),
  priority: choice(priorities, {
    default: "normal",
    doc: "Priority `high` is delivered first when there is a backlog.",
  }),
} satisfies Fields;

/** Sent as headers in the API and as options in the library. */
export const traceFields = {
  traceparent: word({
    lengthMax: 128,
    pattern: "^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)",
    rule: "a traceparent of W3C Trace Context",
    doc: "Position in the publisher's trace. Sent with every request, with a new span id.",
    examples: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
  }),
  tracestate: line({
    lengthMin: 1,
    lengthMax: traceStateLengthMax,
    doc: "Vendor data that accompanies `traceparent`. Sent to webhooks that agreed to it.",
    examples: ["congo=t61rcWkgMzE"],
  }),
} satisfies Fields;
