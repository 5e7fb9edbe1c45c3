/** Types of the events in which Posthorn tells of itself. Each is described in operational-event-catalogue.ts. */
const operationalEventTypes = [
  "posthorn.webhook.created",
  "posthorn.webhook.updated",
  "posthorn.webhook.deleted",
  "posthorn.webhook.failing",
  "posthorn.webhook.recovered",
  "posthorn.webhook.suspended",
  "posthorn.webhook.disabled",
  "posthorn.webhook.enabled",
  "posthorn.webhook.circuit_opened",
  "posthorn.webhook.circuit_closed",
  "posthorn.webhook.paused",
  "posthorn.webhook.resumed",
  "posthorn.webhook.exhausted",
  "posthorn.webhook.secret_rotated",
  "posthorn.webhook.attention",
  "posthorn.webhook.moved",
  "posthorn.webhook.incident_reported",
  "posthorn.tenant.limit_reached",
] as const;
export type OperationalEventType = (typeof operationalEventTypes)[number];

/** Something that happened in Posthorn itself. `at` in Unix milliseconds. */
export interface OperationalEvent {
  /** Names what happened, so that it is told once. */
  readonly key: string;
  readonly type: OperationalEventType;
  readonly tenantId: string;
  /** Null where it is about the tenant. */
  readonly webhookId: string | null;
  readonly at: number;
  /** As published, in the names of the API. */
  readonly data: Readonly<Record<string, unknown>>;
}
