import type { ApiKey, ApiKeyRole } from "../../resources/api-key.ts";
import type { EventType } from "../../resources/event-type.ts";
import type { Tenant } from "../../resources/tenant.ts";
import type { AuditEntry } from "./audit.ts";

export type { ApiKey, ApiKeyRole, EventType, Tenant };

/**
 * Tenants, API keys and event types: tables that change rarely. Event types are documents of up to 0.5 MB, a thousand
 * per tenant, so they are read by name or one page at a time.
 */
export interface RegistryStore {
  saveTenant(tenant: Tenant, audit?: AuditEntry): Promise<void>;
  tenants(): Promise<readonly Tenant[]>;

  saveApiKey(key: ApiKey, audit?: AuditEntry): Promise<void>;
  /** Returns true if the key existed. */
  deleteApiKey(id: string, audit?: AuditEntry): Promise<boolean>;
  apiKeys(): Promise<readonly ApiKey[]>;

  saveEventType(eventType: EventType, audit?: AuditEntry): Promise<void>;
  deleteEventType(key: EventTypeKey, audit?: AuditEntry): Promise<boolean>;
  eventType(key: EventTypeKey): Promise<EventType | null>;
  /** Sorted by tenant and name. A page ends at `limit` rows or at `bytesMax` bytes, but contains at least one row. */
  eventTypePage(query: EventTypeQuery): Promise<EventTypePage>;
  /** The number and total size of the event types that one tenant has registered. Does not read the documents. */
  eventTypeUsage(tenantId: string): Promise<{ readonly count: number; readonly bytes: number }>;
}

/** The worker pool of tenants that are not assigned to a different pool (WDS-220). */
export const defaultWorkerPool = "default";

/** Identifies an event type. */
export interface EventTypeKey {
  readonly tenantId: string;
  readonly name: string;
}

/** Selects the event types to read; `tenantId: null` means all tenants. */
export interface EventTypeQuery {
  readonly tenantId: string | null;
  /** The last event type of the previous page. That event type may have been deleted. */
  readonly after: EventTypeKey | null;
  readonly offset: number;
  readonly limit: number;
  readonly bytesMax: number;
}

/** `next` is the `after` of the next page, null at the end. */
export interface EventTypePage {
  readonly rows: readonly EventType[];
  readonly next: EventTypeKey | null;
}
