import type { AuditEntry } from "./audit.ts";
import type { apiKeyRoles } from "../../resources/registry.ts";

/**
 * Tenants, API keys and event types: tables that change rarely. Event types are documents of up to 0.5 MB, a thousand
 * per tenant, so they are read by name or a page at a time.
 */
export interface RegistryStore {
  saveTenant(tenant: Tenant, audit?: AuditEntry): Promise<void>;
  tenants(): Promise<readonly Tenant[]>;

  saveApiKey(key: ApiKey, audit?: AuditEntry): Promise<void>;
  /** True if it existed. */
  deleteApiKey(id: string, audit?: AuditEntry): Promise<boolean>;
  apiKeys(): Promise<readonly ApiKey[]>;

  saveEventType(eventType: EventType, audit?: AuditEntry): Promise<void>;
  deleteEventType(key: EventTypeKey, audit?: AuditEntry): Promise<boolean>;
  eventType(key: EventTypeKey): Promise<EventType | null>;
  /** Sorted by tenant and name. Ends at `limit` rows or at `bytesMax` bytes, but has at least one row. */
  eventTypePage(query: EventTypeQuery): Promise<EventTypePage>;
  /** How much one tenant has registered; does not read the documents. */
  eventTypeUsage(tenantId: string): Promise<{ readonly count: number; readonly bytes: number }>;
}

/** The worker pool that serves tenants without another pool (WDS-220). */
export const defaultWorkerPool = "default";

/** The owner of webhooks and events. `default` always exists. */
export interface Tenant {
  readonly id: string;
  readonly name: string;
  /** Requests per minute for all webhooks of the tenant together; null is unlimited. */
  readonly rateLimit: { readonly requestsPerMinute: number; readonly burst: number } | null;
  readonly webhooksMax: number | null;
  /** The workers that serve this tenant (WDS-220); `default` unless an administrator chose another pool. */
  readonly workerPool: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What a key may do; the description of an API key explains each role. */
export type ApiKeyRole = (typeof apiKeyRoles)[number];

/** A stored key; never contains the key itself. Times are Unix milliseconds. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the key; the key itself is shown once and never stored. */
  readonly hash: string;
  /** The last four characters, to recognize it in a listing. */
  readonly hint: string;
  readonly role: ApiKeyRole;
  /** Null only for role `admin`. */
  readonly tenantId: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

/** Identifies an event type. */
export interface EventTypeKey {
  readonly tenantId: string;
  readonly name: string;
}

/** Which event types to read; `tenantId: null` means all tenants. */
export interface EventTypeQuery {
  readonly tenantId: string | null;
  /** The last one of the previous page; it may have been deleted. */
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

/** A registered event type; unregistered types can be published too. */
export interface EventType {
  readonly tenantId: string;
  readonly name: string;
  readonly description: string;
  /** JSON Schema 2020-12 of `data`; null accepts any object. */
  readonly schema: unknown;
  readonly examples: readonly unknown[];
  readonly deprecated: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}
