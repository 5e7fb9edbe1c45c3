/** Response types of the API, derived from its schemas. */
import type { alertPreviewSchema, alertRuleSchema, alertSchema } from "../../src/resources/alert.ts";
import type { auditListSchema } from "../../src/resources/audit.ts";
import type { deliveryProblemSchema } from "../../src/resources/delivery-problem.ts";
import type {
  deliverySearchSchema,
  deliveryWithAttemptsSchema,
  renderedRequestSchema,
} from "../../src/resources/delivery.ts";
import type { connectionShown, filterEvaluationSchema } from "../../src/resources/connection.ts";
import type { eventMatchesSchema, eventSchema, eventSearchSchema } from "../../src/resources/event.ts";
import type { eventTypeShown } from "../../src/resources/event-type.ts";
import type { Fields, ValueOf } from "../../src/resources/field.ts";
import type { requestListSchema, requestSchema } from "../../src/resources/gateway-request.ts";
import type {
  serviceDescriptionSchema,
  sourceAddressSchema,
  sourceTypeSchema,
  sourceShown,
} from "../../src/resources/source.ts";
import type { channelShown, notificationShown } from "../../src/resources/notification.ts";
import type { bulkStartedSchema, operationSchema } from "../../src/resources/operation.ts";
import type { portalSettingsSchema } from "../../src/resources/portal.ts";
import type { problemSchema, Static } from "../../src/resources/schema.ts";
import type { searchHitsSchema } from "../../src/resources/search.ts";
import type { readinessSchema, systemSchema } from "../../src/resources/system.ts";
import type { profileWithExampleSchema } from "../../src/resources/profile.ts";
import type {
  backlogSchema,
  healthSchema,
  receiverCheckSchema,
  revisionListSchema,
  secretSchema,
  timelineSchema,
  urlCheckSchema,
} from "../../src/resources/webhook-state.ts";
import type { webhookListSchema, webhookSchema } from "../../src/resources/webhook.ts";

export type { SessionView } from "../../src/resources/system.ts";
export type Alert = Static<typeof alertSchema>;
export type AlertRule = Static<typeof alertRuleSchema>;
export type AlertPreview = Static<typeof alertPreviewSchema>;
export type Problem = Static<typeof problemSchema>;
export type AuditEntry = Static<typeof auditListSchema>["data"][number];
export type DeliveryProblem = Static<typeof deliveryProblemSchema>;
export type Readiness = Static<typeof readinessSchema>;
export type DeliveryPage = Static<typeof deliverySearchSchema>;
export type Delivery = DeliveryPage["data"][number];
export type DeliveryDetail = Static<typeof deliveryWithAttemptsSchema>;
export type Attempt = DeliveryDetail["attempts"][number];
export type RenderedRequest = Static<typeof renderedRequestSchema>;
export type EventSummary = Static<typeof eventSearchSchema>["data"][number];
export type EventDetail = Static<typeof eventSchema>;
export type EventMatch = Static<typeof eventMatchesSchema>["data"][number];
export type BulkStarted = Static<typeof bulkStartedSchema>;
export type Operation = Static<typeof operationSchema>;
export type SearchHits = Static<typeof searchHitsSchema>;
export type SearchHit = SearchHits["data"][number];
export type System = Static<typeof systemSchema>;
export type SourceType = Static<typeof sourceTypeSchema>;
export type SourceAddress = Static<typeof sourceAddressSchema>;
export type ServiceDescription = Static<typeof serviceDescriptionSchema>;
export type GatewayRequest = Static<typeof requestListSchema>["data"][number];
export type FilterEvaluation = Static<typeof filterEvaluationSchema>;
export type FilterTraceStep = NonNullable<FilterEvaluation["trace"]>[number];
export type EvaluatedRequest = NonNullable<FilterEvaluation["samples"]>["matched"][number];
export type GatewayRequestDetail = Static<typeof requestSchema>;
export type PortalSettings = Static<typeof portalSettingsSchema>;
export type Webhook = Static<typeof webhookSchema>;
export type ListedWebhook = Static<typeof webhookListSchema>["data"][number];
export type TimelineEntry = Static<typeof timelineSchema>["data"][number];
export type RevisionEntry = Static<typeof revisionListSchema>["data"][number];
export type WebhookBacklog = Static<typeof backlogSchema>;
export type WebhookHealth = Static<typeof healthSchema>;
export type UrlCheck = Static<typeof urlCheckSchema>;
export type ReceiverCheck = Static<typeof receiverCheckSchema>;
export type Secrets = Static<typeof secretSchema>;
export type Profile = Static<typeof profileWithExampleSchema>;

export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
  /** False if a time-limited search has not covered the whole range yet. */
  readonly complete?: boolean;
  /** How far back the search reached. */
  readonly searched_to?: string | null;
}

/** Converts names to the form of the API: `createdAt` becomes `created_at`. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : "";

/** Times are numbers in the library and RFC 3339 in the API. */
type ShownValue<Name, Value> = Name extends `${string}${"At" | "Since" | "Until"}`
  ? string | Extract<Value, null>
  : Value;

/** A resource in the form of the API. Members of its objects are not renamed. */
export type Shown<F extends Fields> = {
  readonly [Name in keyof F & string as SnakeCase<Name>]: ShownValue<Name, ValueOf<F[Name]>>;
};

export type Channel = Shown<typeof channelShown>;
export type SentNotification = Shown<typeof notificationShown>;
export type EventType = Shown<typeof eventTypeShown>;
export type SourceConnection = Shown<typeof connectionShown>;

export type Source = Shown<Omit<typeof sourceShown, "verification">> & {
  /** Secrets are masked. Empty if the stored configuration cannot be read. */
  readonly verification: Readonly<Record<string, unknown>> & { readonly type?: string };
  /** Present in listings with `include=recent`. */
  readonly recent?:
    | (Readonly<Record<GatewayRequest["outcome"], number>> & {
        readonly last_received_at: string | null;
      })
    | null;
};

/** Resources without static types, because their fields are described in src/resources. */
export type Row = Readonly<Record<string, unknown>>;

/** A field of a row as text, or an empty string. */
export function fieldText(row: Row, name: string): string {
  const value = row[name];
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
