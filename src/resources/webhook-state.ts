import { circuitStates } from "../domain/circuit-breaker.ts";
import { auditActorKinds } from "../domain/scope.ts";
import { webhookHistoryKinds } from "../domain/webhook-history.ts";
import { webhookStatuses } from "../domain/webhook.ts";
import {
  circuitActionFields,
  incidentFields,
  pauseFields,
  receiverCheckFields,
  rotateFields,
  testFields,
  urlCheckFields,
} from "./actions.ts";
import { gateSchema } from "./delivery.ts";
import {
  closed,
  idSchema,
  instant,
  instantOrNull,
  listOf,
  nullableSchema,
  oneOf,
  pageProperties,
  schemaOf,
  textOrNull,
  Type,
} from "./schema.ts";
import { webhookHealthSchema } from "./webhook.ts";

export const callbackQuerySchema = closed({
  key: Type.String({ minLength: 1, maxLength: 256, description: "The secret of the callback URL." }),
});

export const callbackResultSchema = closed(
  {
    webhook_id: idSchema("the webhook"),
    state: oneOf(["granted"]),
    allowed_rate_per_minute: nullableSchema(Type.Integer()),
  },
  { title: "VerificationGranted" },
);

export const incidentInputSchema = schemaOf(incidentFields, {
  title: "IncidentInput",
  examples: [{ kind: "bad_signature", detail: "three messages signed with an unknown key" }],
});

export const incidentResultSchema = closed(
  { event_id: idSchema("the operational event that announces it") },
  { title: "IncidentReported" },
);

export const urlCheckInputSchema = schemaOf(urlCheckFields, {
  title: "UrlCheckInput",
  examples: [{ url: "https://example.com/hooks" }],
});
export const urlCheckSchema = closed(
  {
    acceptable: Type.Boolean(),
    code: textOrNull("What is wrong, such as `scheme` or `address`."),
    detail: textOrNull("An explanation that does not repeat the URL."),
    duplicate_of: textOrNull("A webhook of the tenant with the same URL."),
  },
  { title: "UrlCheck" },
);

export const receiverCheckInputSchema = schemaOf(receiverCheckFields, { title: "ReceiverCheckInput" });
export const receiverCheckSchema = closed(
  {
    findings: Type.Array(
      closed(
        {
          id: Type.String({ examples: ["altered-body"] }),
          title: Type.String("Description of the rule."),
          level: oneOf(["must", "should"]),
          state: oneOf(["passed", "failed", "skipped"]),
          detail: Type.String("The request that was sent, and the response."),
          hint: textOrNull("How to fix it; only with `failed`."),
        },
        { title: "ReceiverFinding" },
      ),
    ),
  },
  { title: "ReceiverCheck" },
);

export const historyQuerySchema = closed(pageProperties);

const by = Type.Unsafe<Record<string, unknown> | null>({
  ...closed(
    {
      kind: oneOf(auditActorKinds),
      key_name: textOrNull("Name of the API key when the change was made."),
      reference: textOrNull("The person for whom the session was opened."),
    },
    { title: "HistoryActor" },
  ),
  type: ["object", "null"],
  description:
    "Who made the change; null if Posthorn did, because of the profile or a response of the receiver.",
});

const changes = Type.Unsafe<Record<string, unknown>>({
  type: "object",
  description:
    "Keyed by field of the webhook: the previous value, if any, and the new one. Secrets and credentials are not recorded.",
  additionalProperties: {
    type: "object",
    title: "WebhookFieldChange",
    properties: { from: {}, to: {} },
    additionalProperties: false,
  },
});

export const timelineEntrySchema = closed(
  {
    at: instant("Time of the change."),
    kind: oneOf(webhookHistoryKinds, {
      description:
        "`changed`: the configuration, including credentials; `secret_rotated`: only the signing key. `verified`: the receiver confirmed that it wants the events. Circuit changes are recorded when the circuit opens and closes, not for each probe.",
    }),
    by,
    reason: textOrNull("The stated reason, or the rule that caused the change."),
    revision: nullableSchema(
      Type.Integer("The resulting revision; null if the configuration did not change."),
    ),
    changed: Type.Array(Type.String(), { description: "Fields that changed." }),
  },
  { title: "WebhookTimelineEntry" },
);

export const timelineSchema = listOf(timelineEntrySchema, "WebhookTimeline");

export const revisionSchema = closed(
  {
    revision: Type.Integer({ minimum: 1 }),
    at: instant("When the revision was created."),
    by,
    changes,
  },
  { title: "WebhookRevision" },
);

export const revisionListSchema = listOf(revisionSchema, "WebhookRevisionList");

// State of a webhook's endpoint, and its secrets.

const circuitProperties = {
  webhook_id: idSchema("the webhook"),
  state: oneOf(circuitStates),
  failure_count_in_window: Type.Integer(),
  success_count_in_window: Type.Integer(),
  total_calls_in_window: Type.Integer(),
  error_percentage: Type.Number(),
  window_start: instant("Start of the window."),
  state_transition_at: instant("When the state was entered."),
  next_half_open_at: instantOrNull("When the first probe may be sent."),
  half_open_attempts: Type.Integer(),
  half_open_successes: Type.Integer(),
  forced_open_until: instantOrNull("End of a manual opening."),
  forced_closed_until: instantOrNull("End of a manual closing."),
};

export const circuitSchema = closed(circuitProperties, { title: "Circuit" });

export const healthSchema = closed(
  {
    webhook_id: idSchema("the webhook"),
    health: webhookHealthSchema,
    status: oneOf(webhookStatuses),
    status_reason: nullableSchema(Type.String()),
    circuit_breaker: circuitSchema,
    paused_until: instantOrNull("Nothing is sent until this time."),
    pause_reason: nullableSchema(Type.String()),
    gates: Type.Array(gateSchema, {
      description:
        "Everything that currently holds deliveries of the webhook, with the reason and what ends it; empty if nothing does.",
    }),
    in_flight: Type.Integer("Requests in flight."),
    stats: closed(
      {
        since: instant("Start of the period in which attempts are counted."),
        total: Type.Integer(),
        accepted: Type.Integer(),
        transient: Type.Integer(),
        terminal: Type.Integer(),
        duration_ms_p50: nullableSchema(Type.Number()),
        duration_ms_p95: nullableSchema(Type.Number()),
        last_attempt_at: instantOrNull("Time of the latest attempt."),
      },
      { title: "AttemptStats" },
    ),
    error_distribution: Type.Unsafe<Record<string, number>>({
      type: "object",
      additionalProperties: { type: "integer" },
      description: "Failed attempts by category.",
    }),
    last_success_at: instantOrNull("Time of the last accepted delivery."),
    disables_at: instantOrNull(
      "When the webhook will be disabled unless a delivery is accepted first; null if no such deadline applies.",
    ),
  },
  { title: "WebhookHealth" },
);

export const circuitActionSchema = schemaOf(circuitActionFields, {
  title: "CircuitAction",
  examples: [{ action: "force_open", duration_seconds: 3_600 }],
});

export const secretSchema = closed(
  {
    secret: textOrNull("Null for a webhook that signs only with Ed25519."),
    previous: nullableSchema(
      closed(
        { secret: Type.String(), expires_at: instant("Both secrets are valid until this time.") },
        { title: "PreviousSecret" },
      ),
    ),
  },
  { title: "WebhookSecret" },
);

export const rotateInputSchema = schemaOf(rotateFields, { title: "RotateInput" });

export const publicKeySchema = closed(
  {
    public_key: Type.String("`whpk_` followed by base64."),
    jwk: Type.Unsafe<Record<string, string>>({ type: "object", additionalProperties: { type: "string" } }),
  },
  { title: "PublicKey" },
);

export const testInputSchema = schemaOf(testFields, { title: "TestInput" });

export const testResultSchema = closed(
  { event_id: idSchema("the test event"), delivery_id: idSchema("its delivery") },
  { title: "TestResult" },
);

export const pauseInputSchema = schemaOf(pauseFields, { title: "PauseInput" });

const waiting = (priority: string) =>
  Type.Integer({ minimum: 0, description: `Deliveries of priority ${priority}.` });

export const backlogSchema = closed(
  {
    webhook_id: idSchema("the webhook"),
    waiting: closed(
      { high: waiting("high"), normal: waiting("normal"), low: waiting("low") },
      { title: "WaitingByPriority", description: "Includes requests in flight." },
    ),
    total: Type.Integer({ minimum: 0, description: "Total of all priorities, counted up to 10,000." }),
    more: Type.Boolean(
      "True if more than 10,000 deliveries are waiting. The oldest is then the oldest of the counted ones.",
    ),
    oldest_created_at: instantOrNull(
      "When the oldest waiting delivery was created; null if none is waiting.",
    ),
    accepted_per_second: Type.Number("Average over the last five minutes and the current minute."),
    drain_seconds: nullableSchema(
      Type.Number(
        "Time to drain at the current rate if nothing more is published. Null if unknown: nothing was accepted recently, or more deliveries are waiting than were counted.",
      ),
    ),
  },
  { title: "WebhookBacklog" },
);
