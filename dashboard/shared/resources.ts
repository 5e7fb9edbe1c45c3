/** Response types of the API, derived from its schemas. */
import type { alertPreviewSchema, alertRuleSchema, alertSchema } from "../../src/resources/alert.ts";
import type { auditListSchema } from "../../src/resources/audit.ts";
import type { deliveryProblemSchema } from "../../src/resources/delivery-problem.ts";
import type {
  deliverySearchSchema,
  deliveryWithAttemptsSchema,
  renderedRequestSchema,
} from "../../src/resources/delivery.ts";
import type { eventMatchesSchema, eventSearchSchema } from "../../src/resources/event.ts";
import type { filterEvaluationSchema } from "../../src/resources/connection.ts";
import type { requestListSchema, requestSchema } from "../../src/resources/gateway-request.ts";
import type {
  serviceDescriptionSchema,
  sourceAddressSchema,
  sourceTypeSchema,
} from "../../src/resources/source.ts";
import type { bulkStartedSchema, operationSchema } from "../../src/resources/operation.ts";
import type { readinessSchema } from "../../src/resources/system.ts";
import type { problemSchema, Static } from "../../src/resources/schema.ts";
import type { searchHitsSchema } from "../../src/resources/search.ts";
import type { systemSchema } from "../../src/resources/system.ts";
import type {
  backlogSchema,
  healthSchema,
  revisionListSchema,
  timelineSchema,
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
export type Webhook = Static<typeof webhookSchema>;
export type ListedWebhook = Static<typeof webhookListSchema>["data"][number];
export type TimelineEntry = Static<typeof timelineSchema>["data"][number];
export type RevisionEntry = Static<typeof revisionListSchema>["data"][number];
export type WebhookBacklog = Static<typeof backlogSchema>;
export type WebhookHealth = Static<typeof healthSchema>;

export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
  /** False if a time-limited search has not covered everything yet. */
  readonly complete?: boolean;
  /** How far back the search reached. */
  readonly searched_to?: string | null;
}

/** Fields of `GET /v1/sources` that are shown. Described in src/core/fields. */
export interface Source {
  readonly id: string;
  readonly tenant_id: string;
  readonly name: string;
  readonly description: string;
  readonly party: string | null;
  /** Secrets are masked. Empty if the stored configuration cannot be read. */
  readonly verification: Readonly<Record<string, unknown>> & { readonly type?: string };
  readonly warnings: readonly string[];
  readonly mode: "pass_through" | "store_and_forward";
  readonly effective_mode: "pass_through" | "store_and_forward";
  readonly acknowledged_by: string | null;
  readonly acknowledged_at: string | null;
  readonly active: boolean;
  readonly when_inactive: "unavailable" | "gone";
  readonly forward_headers: readonly string[];
  readonly budget_ms: number;
  readonly dedup_window_ms: number;
  /** In listings with `include=recent`. */
  readonly recent?:
    | (Readonly<Record<GatewayRequest["outcome"], number>> & {
        readonly last_received_at: string | null;
      })
    | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** Fields of `GET /v1/connections` that are shown. */
export interface SourceConnection {
  readonly id: string;
  readonly source_id: string;
  readonly webhook_id: string;
  readonly name: string;
  readonly required: boolean;
  readonly paused: boolean;
  readonly paused_at: string | null;
  /** Counted up to 10,000. */
  readonly held_count: number;
  readonly releasing_since: string | null;
  readonly filter: object | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** Resources without static types, because their fields are described in src/core/fields. */
export type Row = Readonly<Record<string, unknown>>;

/** A field of a row as text, or an empty string. */
export function fieldText(row: Row, name: string): string {
  const value = row[name];
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
