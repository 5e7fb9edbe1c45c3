import { failureCategories } from "../domain/classify.ts";
import { problemStates } from "../features/problems/problem.ts";
import { choice, type Fields, flag, id, line, list, nullable, text, timeOrDate } from "./field.ts";
import { tenantIdField } from "./names.ts";
import { defineResource, type OptionTable } from "./resource.ts";
import {
  closed,
  idParam,
  idSchema,
  instant,
  instantOrNull,
  nullableSchema,
  oneOf,
  schemaOf,
  searchOf,
  textOrNull,
  Type,
} from "./schema.ts";

const severally = "May be repeated.";

export const problemFilters = {
  states: list(choice(problemStates), { countMax: 100, api: "state", doc: severally }),
  webhookIds: list(id(), { countMax: 100, api: "webhook_id", doc: severally }),
  tenantId: tenantIdField,
} satisfies Fields;

export const problemFilterOptions: OptionTable<typeof problemFilters> = {
  states: "--state <state>",
  webhookIds: "--webhook <id>",
  tenantId: ["--tenant <id>", "tenant (administrators)"],
};

/** The fields of a problem that people can set. */
export const problemChangeFields = {
  muted: flag({ doc: "True mutes the problem and hides it from the default list; false ends the mute." }),
  mutedUntil: nullable(
    timeOrDate({
      doc: "When the mute ends; only with `muted`. If omitted, the mute lasts until it is removed.",
    }),
  ),
  muteReason: nullable(
    line({ lengthMin: 1, lengthMax: 255, doc: "Human-readable reason; only with `muted`." }),
  ),
  note: nullable(text({ lengthMin: 1, lengthMax: 2_000, doc: "A note on the problem; null removes it." })),
} satisfies Fields;

export const problemChangeSchema = schemaOf(problemChangeFields, {
  title: "DeliveryProblemChange",
  examples: [
    { muted: true, muted_until: "2026-02-01T09:00:00Z", mute_reason: "the receiver is being migrated" },
    { muted: false },
    { note: "Ticket 4711; the receiver's team has been informed." },
  ],
});

export const deliveryProblemSchema = closed(
  {
    id: idSchema("the problem; a recurring failure of a webhook keeps its id"),
    webhook_id: idSchema("the webhook"),
    tenant_id: Type.String(),
    state: oneOf(problemStates, {
      description:
        "`open` after three failures within ten minutes, or after one that turned a delivery into a dead letter. `recovering` after the webhook accepts an attempt. `resolved` after 20 accepted attempts in a row, or half an hour without such a failure. `muted` while a person has muted it.",
    }),
    title: Type.String({
      description: "What is wrong, where, when it started, how many deliveries are affected, and what to do.",
      examples: [
        "422 Unprocessable Entity from https://receiver.example/hooks since 2026-01-31 11:04 UTC, 1,204 deliveries. Not retried: the receiver refuses the payload. Check the response and fix the cause, then retry.",
      ],
    }),
    remedy: Type.String("The end of `title`: what happens automatically, and what to do."),
    failure_category: nullableSchema(
      oneOf(failureCategories, {
        description: "Null for the problem that collects all remaining kinds of failures.",
      }),
    ),
    http_status: nullableSchema(Type.Integer("Status of the responses; null without a response.")),
    error_code: nullableSchema(
      Type.String({ description: "Error code of the system or of TLS.", examples: ["ECONNREFUSED"] }),
    ),
    answer: nullableSchema(
      Type.String({
        description: "First line of the responses or of the error, with `#` for numbers and ids.",
        examples: ["order # is not known"],
      }),
    ),
    outcome: oneOf(["transient", "terminal"], { description: "Outcome of the last failure." }),
    first_seen_at: instant("Time of the first failure."),
    last_seen_at: instant("Time of the last failure."),
    resolved_at: instantOrNull("When it was resolved."),
    count: Type.Integer("Failed attempts since `first_seen_at`."),
    deliveries: Type.Integer("Number of deliveries affected since the first failure."),
    delivery_ids: Type.Array(idSchema("a delivery"), {
      description: "Up to three of the latest deliveries.",
    }),
    muted_until: instantOrNull("End of the mute; null if not muted, or if muted indefinitely."),
    mute_reason: nullableSchema(Type.String()),
    note: textOrNull("A note from a person."),
  },
  { title: "DeliveryProblem" },
);

export const problemResource = defineResource({
  noun: "problem",
  title: "Problem",
  path: "/v1/problems",
  tag: "Problems",
  key: idParam("the problem"),
  input: problemChangeFields,
  shown: {},
  filters: problemFilters,
  schemas: { one: deliveryProblemSchema, list: searchOf(deliveryProblemSchema, "DeliveryProblemList") },
});
