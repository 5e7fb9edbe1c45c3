import type { OperationalEventType } from "./operational-event.ts";

/** What documents say of a type. */
export interface OperationalEventDescription {
  readonly description: string;
  /** Members of `data` beside those that all about a webhook have. */
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

const deliveryId = text("The delivery that showed it.", "019cb2e0-75b9-7c07-9bb6-6d92b2e5a1f3");
const statusReason = text("Why, as in `status_reason` of the webhook.", "exhausted");

const problemMembers = {
  problem_id: text("The problem.", "019cb2e0-75b9-7c07-9bb6-6d92b2e5a1f3"),
  category: nullable(text("What kind of failure it is.", "client_error")),
  status_code: nullable(number("What was answered.", 422)),
  error_code: nullable(text("What happened where there was no answer.", "ECONNREFUSED")),
  first_seen_at: at("When it was seen first.", "2026-03-01T08:00:00.000Z"),
  deliveries: number("How many deliveries it concerns.", 12),
};

const alertMembers = {
  alert_id: text("The alert.", "019cb2e0-75b9-7c07-9bb6-6d92b2e5a1f3"),
  rule: text("Name of its rule.", "success-rate"),
  severity: text("`info`, `warning` or `critical`.", "warning"),
  summary: text("One sentence.", "example.com: 62 % of its attempts were accepted within five minutes"),
  value: number("What was seen.", 0.62),
  threshold: number("What it was compared with.", 0.9),
  tenant_id: nullable(text("Whom it is about; null for the installation.", "acme")),
  webhook_id: nullable(text("What it is about.", "019cb2d0-5d4f-7b3c-9f11-0a1b2c3d4e5f")),
};

export const operationalEventCatalogue: Readonly<Record<OperationalEventType, OperationalEventDescription>> =
  {
    "posthorn.webhook.created": {
      description: "A webhook was made.",
      members: {
        event_types: { type: "list", doc: "What it asks for.", example: ["order.*"] },
        profile: text("Its delivery profile.", "standard"),
        status: text("`active`, or `unverified` until its receiver has agreed.", "active"),
      },
    },
    "posthorn.webhook.updated": {
      description:
        "Its configuration or one of its credentials was changed; the audit log says by whom, and what.",
      members: { revision: number("The revision that it has now.", 3) },
    },
    "posthorn.webhook.deleted": {
      description: "It was deleted, and what waited for it is cancelled.",
      members: {},
    },
    "posthorn.webhook.enabled": {
      description: "It is served again, after it was disabled or suspended, or once its receiver has agreed.",
      members: { was: text("Its status before.", "disabled") },
    },
    "posthorn.webhook.suspended": {
      description:
        "The rules of its profile stopped it, for now: nobody who enables it makes that a disablement.",
      members: {
        status: text("`suspended`.", "suspended"),
        reason: text("Why, as in `status_reason` of the webhook.", "gone"),
        since: at("Since when.", "2026-03-04T09:00:00.000Z"),
      },
    },
    "posthorn.webhook.disabled": {
      description: "It was switched off: by its owner (`owner`), or by the rules of its profile.",
      members: {
        status: text("`disabled`.", "disabled"),
        reason: statusReason,
        since: at("Since when.", "2026-03-04T09:00:00.000Z"),
      },
    },
    "posthorn.webhook.failing": {
      description:
        "Nothing has been accepted for half of the time after which it is switched off; where no rule switches it off, for 15 minutes. Always followed by `recovered` or `deleted`.",
      members: {
        failing_since: at("The first failure since the last success.", "2026-03-01T09:00:00.000Z"),
        disabled_at: nullable(
          at(
            "When it is switched off if this goes on; null where no rule does so.",
            "2026-03-04T09:00:00.000Z",
          ),
        ),
        waiting: number("Deliveries that wait for it, counted to 10,000.", 42),
      },
    },
    "posthorn.webhook.recovered": {
      description: "What `failing` told of is over: something was accepted.",
      members: {
        failing_since: at("When it began.", "2026-03-01T09:00:00.000Z"),
        failed_for_ms: number("How long it lasted.", 176_400_000),
        waiting: number("Deliveries that wait and go out now, counted to 10,000.", 42),
      },
    },
    "posthorn.webhook.circuit_opened": {
      description:
        "So many requests failed that nothing but probes is sent (WDS-146). Openings after a probe that failed are not told again.",
      members: {
        next_probe_at: at("When it is tried next.", "2026-03-01T09:01:00.000Z"),
        forced: { type: "boolean", doc: "Somebody opened it by hand.", example: false },
        error_threshold_percentage: number("The share of failures that opens it.", 50),
        window_size_ms: number("Within this time.", 60_000),
      },
    },
    "posthorn.webhook.circuit_closed": {
      description: "Probes went well, or somebody closed it: everything is sent again (WDS-148).",
      members: {},
    },
    "posthorn.webhook.exhausted": {
      description:
        "A delivery was given up, or became too old while it waited, and is among the dead letters. The first of each webhook and clock hour is told.",
      members: {
        delivery_id: deliveryId,
        event_id: text("Its event.", "019cb2df-1d2c-7a41-8f60-2a3f5c7e9b10"),
        event_type: text("The type of that.", "order.created"),
        attempts: number("How often it was tried.", 10),
        reason: text("Why it was given up.", "max_attempts_exceeded"),
      },
    },
    "posthorn.webhook.attention": {
      description:
        "An answer that a person should know of, as the profile says, such as a 404, or a pause of an hour or more. Once for each reason and clock hour.",
      members: {
        level: text("`notify` or `escalate`.", "notify"),
        reason: text("What it is about.", "client_error_404"),
        status_code: nullable(number("What was answered.", 404)),
        paused_until: nullable(at("Nothing is sent before.", "2026-03-01T11:00:00.000Z")),
        delivery_id: deliveryId,
        location: nullable(
          text("Where a redirect points, which is never followed.", "https://new.example.com/"),
        ),
      },
    },
    "posthorn.webhook.paused": {
      description: "Somebody holds it back: what is published is kept for it.",
      members: {
        until: nullable(
          at(
            "When that ends by itself, without a further event; null without an end.",
            "2026-03-01T11:00:00.000Z",
          ),
        ),
        reason: nullable(text("What who paused it said.", "maintenance")),
      },
    },
    "posthorn.webhook.resumed": { description: "Somebody ended a pause.", members: {} },
    "posthorn.webhook.secret_rotated": {
      description: "It signs with a new key.",
      members: {
        old_secret_until: nullable(
          at(
            "How long messages are signed with the old one, too; null where it is revoked.",
            "2026-03-02T09:00:00.000Z",
          ),
        ),
      },
    },
    "posthorn.webhook.moved": {
      description: "A permanent redirect changed its URL, as owner and receiver agreed.",
      members: {
        from: text("Where it was.", "https://example.com/hooks"),
        to: text("Where it is.", "https://example.com/hooks/v2"),
      },
    },
    "posthorn.webhook.incident_reported": {
      description: "Its receiver reported a security incident.",
      members: {
        kind: text("What it was.", "forged"),
        detail: nullable(text("In the receiver's words.", "the signature did not match")),
        message_id: nullable(text("The message, where it is known.", "019cb2df-1d2c-7a41-8f60-2a3f5c7e9b10")),
        occurred_at: nullable(at("When, in the receiver's words.", "2026-03-01T08:59:00.000Z")),
        reported_at: at("When it was reported.", "2026-03-01T09:00:00.000Z"),
      },
    },
    "posthorn.problem.opened": {
      description:
        "Attempts fail in the same way again and again. See `GET /v1/problems/{id}`, which also says what to do. One that is muted is not told. Written with the commit after the one that opened it.",
      members: problemMembers,
    },
    "posthorn.problem.resolved": {
      description: "What `opened` told of has not been seen for a while, or the webhook accepts again.",
      members: problemMembers,
    },
    "posthorn.tenant.limit_reached": {
      description: "A tenant wanted more than it may have. Once for each limit and clock hour.",
      members: {
        limit: text("Which one: `webhooks_max`.", "webhooks_max"),
        value: number("How much it may have.", 100),
      },
    },
    "posthorn.alert.fired": {
      description:
        "A rule has held for long enough. To the operator, and for rules of a tenant to that tenant. One that is muted, or explained by another one, is not told.",
      members: alertMembers,
    },
    "posthorn.alert.resolved": {
      description: "What `fired` told of is over.",
      members: { ...alertMembers, fired_at: at("When it fired.", "2026-03-01T08:00:00.000Z") },
    },
  };

const occurredAt = at("When.", "2026-03-01T09:00:00.000Z");
const aboutTenant = { tenant_id: text("Whose it is.", "acme") };
const aboutWebhook = {
  webhook_id: text("The webhook.", "019cb2d0-5d4f-7b3c-9f11-0a1b2c3d4e5f"),
  ...aboutTenant,
  url: text("Where it sends to, without query and credentials.", "https://example.com/hooks"),
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

/** The JSON Schema of `data`. Members may be added to it; those that are there stay. */
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
