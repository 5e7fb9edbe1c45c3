import { eventTypeLengthMax, eventTypeNamePattern, eventTypePatternPattern } from "../domain/event-type.ts";
import { type Fields, type InputOf, integer, line, list, required, secret, word } from "./field.ts";

/** Maximum rows on one page of any list. */
export const pageLimitMax = 250;

export const pageLimitField = integer({ min: 1, max: pageLimitMax, default: 50, doc: "Rows per page." });

// Fields that several resources use.

const shortName = {
  lengthMax: 63,
  pattern: "^[a-z0-9][a-z0-9_-]*$",
  rule: "a name of a-z, 0-9, _ and -, beginning with a letter or digit",
};

export const tenantIdField = word({
  ...shortName,
  doc: "Tenant. Optional for keys that belong to a tenant.",
  examples: ["default"],
});

export const workerPoolField = word({
  ...shortName,
  doc: "Worker pool that serves this tenant; defaults to `default`.",
});

export const eventTypeField = word({
  lengthMax: eventTypeLengthMax,
  pattern: eventTypeNamePattern,
  rule: "words of letters, digits and _, joined by dots, such as order.completed",
  doc: "Name of the event type.",
  examples: ["order.completed"],
});

/** The event types to which a webhook subscribes. */
export const eventPatternField = word({
  lengthMax: eventTypeLengthMax,
  pattern: eventTypePatternPattern,
  rule: "an event type, a prefix ending in .*, or *",
  examples: ["order.*"],
});

/** Filter of lists by event type. */
export const eventPatternsField = list(eventPatternField, {
  countMax: 100,
  api: "event_type",
  doc: "Name of the event type, or a prefix such as `order.*`. May be repeated.",
});

/** A signing secret. */
export const secretField = secret(
  line({
    lengthMin: 1,
    lengthMax: 256,
    doc: "`whsec_` or `whsk_` followed by base64 of 24 to 64 bytes; generated if absent.",
  }),
);

/** Beyond the maximum, a cursor is required. */
export const pageOffsetField = integer({
  min: 0,
  max: 100_000,
  default: 0,
  doc: "Rows to skip; a cursor is faster.",
});

const rateMax = 1_000_000;

export const rateLimitFields = {
  requestsPerMinute: required(integer({ min: 1, max: rateMax })),
  burst: integer({
    min: 1,
    max: rateMax,
    // Default burst from WDS-60.
    default: 20,
    doc: "Burst size. If omitted, the current value is kept.",
  }),
} satisfies Fields;
export type RateLimitInput = InputOf<typeof rateLimitFields>;

export const pointerField = word({
  lengthMax: 255,
  pattern: "^(/[^/\\u0000-\\u001f]*)+$",
  rule: "a JSON pointer such as /data/id",
  examples: ["/data/id"],
});
