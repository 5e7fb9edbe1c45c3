import { Type } from "typebox";
import { deliveryStates, priorities } from "../../core/delivery.ts";
import { failureCategories } from "../../core/outcome.ts";
import type { DeliveryStatus, WaitingFor } from "../../engine/services.ts";
import {
  closed,
  id,
  instant,
  instantOrDate,
  listOf,
  nullable,
  oneOf,
  pageProperties,
  tenantId,
} from "./building-blocks.ts";

const deliveryStatuses: readonly DeliveryStatus[] = [...deliveryStates, "circuit_blocked"];

/** Complete by construction: a new reason that is missing here does not compile. */
const waitingForDescriptions: Readonly<Record<WaitingFor, string>> = {
  schedule: "the next retry of its schedule",
  retry_after: "the receiver asked to wait",
  rate_limit: "the webhook's rate limit",
  tenant_rate_limit: "the tenant's rate limit",
  circuit_open: "the circuit is open",
  order: "an earlier delivery that comes first",
  inactive: "the webhook is not active",
  concurrency: "requests in flight to the same webhook",
  capacity:
    "requests in flight of the whole process, or to the same host; or no worker of its tenant's pool runs",
  in_flight: "its own request",
};

const deliveryProperties = {
  id: id("the delivery"),
  webhook_id: id("the webhook"),
  event_id: id("the event"),
  event_type: Type.String(),
  tenant_id: tenantId,
  status: oneOf(deliveryStatuses, {
    description:
      "`pending` before the first attempt, `failed` while a retry is due, `exhausted` when dead-lettered, `circuit_blocked` while an open circuit holds it, `skipped` when the webhook was not active.",
  }),
  priority: oneOf(priorities),
  origin: oneOf(["publish", "retry", "replay", "recover", "test"]),
  attempt_count: Type.Integer({ minimum: 0 }),
  waiting_for: nullable(
    oneOf(Object.keys(waitingForDescriptions), {
      description: Object.entries(waitingForDescriptions)
        .map(([name, text]) => `\`${name}\`: ${text}`)
        .join("; "),
    }),
  ),
  waiting_until: nullable(instant("Null when it does not wait, or nobody can tell.")),
  next_attempt_at: nullable(instant("When the next request is due.")),
  created_at: instant("When the delivery was made."),
  first_attempt_at: nullable(instant("First request.")),
  completed_at: nullable(instant("When it succeeded or was given up.")),
  failure_category: nullable(oneOf(failureCategories, { description: "Of the last failed attempt." })),
  reason: nullable(
    Type.String({ description: "Why it is in this state.", examples: ["max_attempts_exceeded"] }),
  ),
  superseded_by: nullable(id("the delivery that a manual retry put in its place")),
};

const deliverySchema = closed(deliveryProperties, { title: "Delivery" });
export const deliveryListSchema = listOf(deliverySchema, "DeliveryList");

const attemptSchema = closed(
  {
    id: id("the attempt"),
    webhook_id: id("the webhook"),
    event_id: id("the event"),
    attempt_number: Type.Integer({ minimum: 1 }),
    status: oneOf(["success", "failed", "exhausted"]),
    outcome: oneOf(["accepted", "transient", "terminal"]),
    failure_category: nullable(oneOf(failureCategories)),
    http_status_code: nullable(Type.Integer()),
    response_body_sample: nullable(Type.String({ description: "At most 1,024 bytes." })),
    error_message: nullable(Type.String()),
    duration_ms: Type.Number(),
    scheduled_at: instant("When it was due."),
    executed_at: instant("When it was sent."),
    next_retry_at: nullable(instant("When the next one was due.")),
    circuit_breaker_prevented: Type.Boolean({
      description: "Always false: a request that was held back is no attempt.",
    }),
    receiver_state_unknown: Type.Boolean({
      description: "The receiver may have processed it although no answer came.",
    }),
  },
  { title: "Attempt" },
);

export const deliveryWithAttemptsSchema = closed(
  { ...deliveryProperties, receiver_state_unknown: Type.Boolean(), attempts: Type.Array(attemptSchema) },
  { title: "DeliveryWithAttempts" },
);

export const deliveryHandleSchema = closed(
  { delivery_id: id("the new delivery"), webhook_id: id("the webhook") },
  { title: "DeliveryHandle" },
);

export const replayResultSchema = closed(
  { deliveries: Type.Array(deliveryHandleSchema) },
  { title: "ReplayResult" },
);

export const deliveryQuerySchema = closed({
  ...pageProperties,
  status: Type.Optional(oneOf(deliveryStatuses)),
  from: Type.Optional(instantOrDate("Only deliveries made at or after this time.")),
  to: Type.Optional(instantOrDate("Only deliveries made before this time.")),
});

export const retryInputSchema = closed(
  { priority: Type.Optional(oneOf(priorities)) },
  { title: "RetryInput" },
);
