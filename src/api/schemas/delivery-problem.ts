import { problemStates } from "../../core/delivery-problems/delivery-problem.ts";
import { problemChangeFields, problemFilters } from "../../core/fields/delivery-problem.ts";
import { failureCategories } from "../../core/outcome.ts";
import { closed, id, idParam, instant, listingQuery, nullable, oneOf, searchOf } from "./building-blocks.ts";
import { schemaOf } from "./field-schema.ts";
import { Type } from "./type.ts";

export const problemQuerySchema = listingQuery(problemFilters);
export const problemParams = closed({ id: idParam("the problem") });

export const problemChangeSchema = schemaOf(problemChangeFields, {
  title: "DeliveryProblemChange",
  examples: [
    { muted: true, muted_until: "2026-02-01T09:00:00Z", mute_reason: "the receiver moves house" },
    { muted: false },
    { note: "Ticket 4711; the receiver's team knows." },
  ],
});

export const deliveryProblemSchema = closed(
  {
    id: id("the problem; the same failure of the same webhook has it again"),
    webhook_id: id("the webhook"),
    tenant_id: Type.String(),
    state: oneOf(problemStates, {
      description:
        "`open` after three failures within ten minutes, or after one that ended a delivery as a dead letter. `recovering`: an attempt of the webhook was accepted since. `resolved`: 20 in a row were, or half an hour passed without such a failure. `muted`: somebody does not want to see it.",
    }),
    title: Type.String({
      description: "What is wrong, where, since when, how many deliveries it concerns, and what to do.",
      examples: [
        "422 Unprocessable Entity from https://receiver.example/hooks since 2026-01-31 11:04 UTC, 1,204 deliveries. Not retried: the receiver refuses the payload. Look at the answer, then retry after a fix.",
      ],
    }),
    remedy: Type.String({ description: "The end of `title`: what happens by itself, and what to do." }),
    failure_category: nullable(
      oneOf(failureCategories, {
        description: "Null in the one that stands for more kinds than are told apart.",
      }),
    ),
    http_status: nullable(Type.Integer({ description: "Of the answers; null where there was none." })),
    error_code: nullable(
      Type.String({ description: "Of the system or of TLS.", examples: ["ECONNREFUSED"] }),
    ),
    answer: nullable(
      Type.String({
        description: "First line of the answers, or of the error, with `#` for numbers and ids.",
        examples: ["order # is not known"],
      }),
    ),
    outcome: oneOf(["transient", "terminal"], { description: "Of the last failure." }),
    first_seen_at: instant("First of the failures that opened it."),
    last_seen_at: instant("Last failure."),
    resolved_at: nullable(instant("Since when it is resolved.")),
    count: Type.Integer({ description: "Failed attempts since `first_seen_at`." }),
    deliveries: Type.Integer({ description: "Deliveries that failed so since then." }),
    delivery_ids: Type.Array(id("a delivery"), { description: "The newest of them, three at most." }),
    muted_until: nullable(instant("When the mute ends; null without one, or where somebody has to end it.")),
    mute_reason: nullable(Type.String()),
    note: nullable(Type.String({ description: "What people know of it." })),
  },
  { title: "DeliveryProblem" },
);

export const problemListSchema = searchOf(deliveryProblemSchema, "DeliveryProblemList");
