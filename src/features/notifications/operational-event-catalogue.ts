import type { OperationalEventType } from "./operational-event.ts";

/** Documentation of an event type. */
export interface OperationalEventDescription {
  readonly description: string;
  /** Members of `data` in addition to those of every event about a webhook. */
  readonly members: Readonly<Record<string, Member>>;
}

interface Member {
  readonly type: "string" | "number" | "boolean" | "time" | "list";
  readonly isNullable?: true;
  readonly doc: string;
  readonly example: unknown;
}

const at = (doc: string, example: unknown): Member => ({ type: "time", doc, example });
const text = (doc: string, example: unknown): Member => ({ type: "string", doc, example });
const number = (doc: string, example: number): Member => ({ type: "number", doc, example });
const nullable = (member: Member): Member => ({ ...member, isNullable: true });

const deliveryId = text("The delivery that caused the event.", "019cb2e0-75b9-7c07-9bb6-6d92b2e5a1f3");
const statusReason = text("Reason, as in `status_reason` of the webhook.", "exhausted");

const problemMembers = {
  problem_id: text("The problem.", "019cb2e0-75b9-7c07-9bb6-6d92b2e5a1f3"),
  category: nullable(text("Category of the failure.", "client_error")),
  status_code: nullable(number("Status of the response.", 422)),
  error_code: nullable(text("Error code if no response arrived.", "ECONNREFUSED")),
  first_seen_at: at("When it was first seen.", "2026-03-01T08:00:00.000Z"),
  deliveries: number("Number of affected deliveries.", 12),
};

const alertMembers = {
  alert_id: text("The alert.", "019cb2e0-75b9-7c07-9bb6-6d92b2e5a1f3"),
  rule: text("Name of the rule.", "success-rate"),
  severity: text("`info`, `warning` or `critical`.", "warning"),
  summary: text("One sentence.", "example.com: 62% of its attempts were accepted within five minutes"),
  value: number("Observed value.", 0.62),
  threshold: number("Threshold of the rule.", 0.9),
  tenant_id: nullable(text("Tenant that the alert is about; null for the installation.", "acme")),
  webhook_id: nullable(text("Subject of the alert.", "019cb2d0-5d4f-7b3c-9f11-0a1b2c3d4e5f")),
};

export const operationalEventCatalogue: Readonly<Record<OperationalEventType, OperationalEventDescription>> =
  {
    "posthorn.webhook.created": {
      description: "A webhook was created.",
      members: {
        event_types: { type: "list", doc: "Event types that it subscribes to.", example: ["order.*"] },
        profile: text("Delivery profile of the webhook.", "standard"),
        status: text("`active`, or `unverified` until its receiver has agreed.", "active"),
      },
    },
    "posthorn.webhook.updated": {
      description: "The configuration or a credential was changed; the audit log shows who changed what.",
      members: { revision: number("Current revision of the webhook.", 3) },
    },
    "posthorn.webhook.deleted": {
      description: "The webhook was deleted, and its waiting deliveries were cancelled.",
      members: {},
    },
    "posthorn.webhook.enabled": {
      description:
        "The webhook is active again after it was disabled or suspended, or because its receiver has agreed.",
      members: { was: text("Status before the change.", "disabled") },
    },
    "posthorn.webhook.suspended": {
      description:
        "The rules of its profile suspended the webhook. If it is not enabled in time, it becomes disabled.",
      members: {
        status: text("`suspended`.", "suspended"),
        reason: text("Reason, as in `status_reason` of the webhook.", "gone"),
        since: at("When it was suspended.", "2026-03-04T09:00:00.000Z"),
      },
    },
    "posthorn.webhook.disabled": {
      description: "The webhook was disabled, by its owner (`owner`) or by the rules of its profile.",
      members: {
        status: text("`disabled`.", "disabled"),
        reason: statusReason,
        since: at("When it was disabled.", "2026-03-04T09:00:00.000Z"),
      },
    },
    "posthorn.webhook.failing": {
      description:
        "The webhook has accepted nothing for half of the time after which it is disabled, or for 15 minutes if no rule disables it. Always followed by `recovered` or `deleted`.",
      members: {
        failing_since: at("The first failure since the last success.", "2026-03-01T09:00:00.000Z"),
        disabled_at: nullable(
          at(
            "When the webhook will be disabled if this continues; null if no rule disables it.",
            "2026-03-04T09:00:00.000Z",
          ),
        ),
        waiting: number("Deliveries that wait for the webhook, counted up to 10,000.", 42),
      },
    },
    "posthorn.webhook.recovered": {
      description: "The failure reported by `failing` has ended: an attempt was accepted.",
      members: {
        failing_since: at("When the failure began.", "2026-03-01T09:00:00.000Z"),
        failed_for_ms: number("How long the failure lasted.", 176_400_000),
        waiting: number("Waiting deliveries that are being sent now, counted up to 10,000.", 42),
      },
    },
    "posthorn.webhook.circuit_opened": {
      description:
        "Too many requests failed, so only probes are sent (WDS-146). Reopening after a failed probe is not reported again.",
      members: {
        next_probe_at: at("When the next probe is sent.", "2026-03-01T09:01:00.000Z"),
        forced: { type: "boolean", doc: "Whether the circuit was opened manually.", example: false },
        error_threshold_percentage: number("Failure threshold of the circuit.", 50),
        window_size_ms: number("Length of the window.", 60_000),
      },
    },
    "posthorn.webhook.circuit_closed": {
      description:
        "Probes succeeded, or the circuit was closed manually: everything is sent again (WDS-148).",
      members: {},
    },
    "posthorn.webhook.exhausted": {
      description:
        "A delivery became a dead letter, after its last attempt or because it grew too old while it waited. Only the first one per webhook and clock hour is reported.",
      members: {
        delivery_id: deliveryId,
        event_id: text("Id of the event.", "019cb2df-1d2c-7a41-8f60-2a3f5c7e9b10"),
        event_type: text("Type of the delivered event.", "order.created"),
        attempts: number("Number of attempts.", 10),
        reason: text("Why it became a dead letter.", "max_attempts_exceeded"),
      },
    },
    "posthorn.webhook.attention": {
      description:
        "A response that needs a person's attention according to the profile, such as a 404, or a pause of an hour or more. Reported once per reason and clock hour.",
      members: {
        level: text("`notify` or `escalate`.", "notify"),
        reason: text("Reason of the report.", "client_error_404"),
        status_code: nullable(number("Status of the response.", 404)),
        paused_until: nullable(at("Nothing is sent before this time.", "2026-03-01T11:00:00.000Z")),
        delivery_id: deliveryId,
        location: nullable(
          text("Target of a redirect; redirects are never followed.", "https://new.example.com/"),
        ),
      },
    },
    "posthorn.webhook.paused": {
      description: "The webhook was paused: published events are kept for it.",
      members: {
        until: nullable(
          at(
            "When the pause ends automatically, without another event; null if it does not.",
            "2026-03-01T11:00:00.000Z",
          ),
        ),
        reason: nullable(text("Reason given for the pause.", "maintenance")),
      },
    },
    "posthorn.webhook.resumed": { description: "The webhook was resumed manually.", members: {} },
    "posthorn.webhook.secret_rotated": {
      description: "The webhook signs with a new key.",
      members: {
        old_secret_until: nullable(
          at(
            "Messages are also signed with the old key until this time; null if the old key was revoked.",
            "2026-03-02T09:00:00.000Z",
          ),
        ),
      },
    },
    "posthorn.webhook.moved": {
      description: "A permanent redirect changed the URL of the webhook, as owner and receiver agreed.",
      members: {
        from: text("The previous URL.", "https://example.com/hooks"),
        to: text("The new URL.", "https://example.com/hooks/v2"),
      },
    },
    "posthorn.webhook.incident_reported": {
      description: "The receiver of the webhook reported a security incident.",
      members: {
        kind: text("Kind of the incident.", "forged"),
        detail: nullable(text("Description by the receiver.", "the signature did not match")),
        message_id: nullable(text("Id of the message, if known.", "019cb2df-1d2c-7a41-8f60-2a3f5c7e9b10")),
        occurred_at: nullable(at("When it happened, according to the receiver.", "2026-03-01T08:59:00.000Z")),
        reported_at: at("When it was reported.", "2026-03-01T09:00:00.000Z"),
      },
    },
    "posthorn.problem.opened": {
      description:
        "Attempts keep failing in the same way. See `GET /v1/problems/{id}`, which also says what to do. Muted problems are not reported. Written with the commit after the one that opened the problem.",
      members: problemMembers,
    },
    "posthorn.problem.resolved": {
      description:
        "The problem reported by `opened` has not been seen for a while, or the webhook accepts again.",
      members: problemMembers,
    },
    "posthorn.tenant.limit_reached": {
      description: "A tenant reached one of its limits. Reported once per limit and clock hour.",
      members: {
        limit: text("The limit: `webhooks_max`.", "webhooks_max"),
        value: number("Value of the limit.", 100),
      },
    },
    "posthorn.alert.fired": {
      description:
        "The condition of an alert rule has held for long enough. Sent to the operator, and for a tenant's rules to that tenant. Alerts that are muted, or explained by another alert, are not reported.",
      members: alertMembers,
    },
    "posthorn.alert.resolved": {
      description: "The alert reported by `fired` has resolved.",
      members: { ...alertMembers, fired_at: at("When it fired.", "2026-03-01T08:00:00.000Z") },
    },
  };

const occurredAt = at("When it happened.", "2026-03-01T09:00:00.000Z");
const aboutTenant = { tenant_id: text("Tenant that owns the webhook.", "acme") };
const aboutWebhook = {
  webhook_id: text("Id of the webhook.", "019cb2d0-5d4f-7b3c-9f11-0a1b2c3d4e5f"),
  ...aboutTenant,
  url: text("URL that the webhook sends to, without query and credentials.", "https://example.com/hooks"),
};

/** All members of `data`, in the order in which they are written. */
export function membersOf(type: OperationalEventType): Readonly<Record<string, Member>> {
  const common = commonOf(type);
  const { members } = operationalEventCatalogue[type];
  return { ...common, ...members, occurred_at: members["occurred_at"] ?? occurredAt };
}

function commonOf(type: OperationalEventType): Readonly<Record<string, Member>> {
  if (type.startsWith("posthorn.alert.")) return {};
  return type.startsWith("posthorn.tenant.") ? aboutTenant : aboutWebhook;
}

/** The JSON Schema of `data`. Members may be added later; existing ones stay. */
export function operationalEventSchema(type: OperationalEventType): Readonly<Record<string, unknown>> {
  const members = Object.entries(membersOf(type));
  return {
    type: "object",
    required: members.map(([name]) => name),
    properties: Object.fromEntries(members.map(([name, member]) => [name, memberSchema(member)])),
  };
}

export function operationalEventExample(type: OperationalEventType): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(membersOf(type)).map(([name, { example }]) => [name, example]));
}

const jsonTypes = { string: "string", number: "number", boolean: "boolean", time: "string", list: "array" };

function memberSchema({ type, isNullable, doc }: Member): Readonly<Record<string, unknown>> {
  return {
    type: isNullable ? [jsonTypes[type], "null"] : jsonTypes[type],
    ...(type === "time" && { format: "date-time" }),
    ...(type === "list" && { items: { type: "string" } }),
    description: doc,
  };
}
