import type { AuditEntry } from "./audit.ts";
import type { apiKeyRoles } from "../../core/fields/api-key.ts";

/**
 * Tenants, API keys and event types: tables that change rarely. Event types are documents of up to half a megabyte, a
 * thousand for each tenant, so they are read by name or a page at a time.
 */
export interface RegistryStore {
  saveTenant(tenant: Tenant, audit?: AuditEntry): Promise<void>;
  tenants(): Promise<readonly Tenant[]>;

  saveApiKey(key: ApiKey, audit?: AuditEntry): Promise<void>;
  /** True when it existed. */
  deleteApiKey(id: string, audit?: AuditEntry): Promise<boolean>;
  apiKeys(): Promise<readonly ApiKey[]>;

  saveEventType(eventType: EventType, audit?: AuditEntry): Promise<void>;
  deleteEventType(key: EventTypeKey, audit?: AuditEntry): Promise<boolean>;
  eventType(key: EventTypeKey): Promise<EventType | null>;
  /** By tenant and name. Ends at `limit` rows or once they have `bytesMax` bytes, but never without a row. */
  eventTypePage(query: EventTypeQuery): Promise<EventTypePage>;
  /** How much one tenant has registered, without reading it. */
  eventTypeUsage(tenantId: string): Promise<{ readonly count: number; readonly bytes: number }>;
}

/** The pool of workers that serves whoever has no other (WDS-220). */
export const defaultWorkerPool = "default";

/** Whose webhooks and events these are. `default` always exists. */
export interface Tenant {
  readonly id: string;
  readonly name: string;
  /** Requests per minute over all webhooks of the tenant; null is unlimited (design, decision 4). */
  readonly rateLimit: { readonly requestsPerMinute: number; readonly burst: number } | null;
  readonly webhooksMax: number | null;
  /** The workers that serve this tenant (WDS-220); `default` unless an administrator gave it others. */
  readonly workerPool: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What a key may do; the description of an API key says what each of them means. */
export type ApiKeyRole = (typeof apiKeyRoles)[number];

/** A key as it is kept: never the key itself. Times are Unix milliseconds. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the key; the key itself is shown once and never stored. */
  readonly hash: string;
  /** The last four characters, to recognise it in a listing. */
  readonly hint: string;
  readonly role: ApiKeyRole;
  /** Null only for role `admin`. */
  readonly tenantId: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

/** Names an event type. */
export interface EventTypeKey {
  readonly tenantId: string;
  readonly name: string;
}

/** Which event types to read; those of all tenants with `tenantId: null`. */
export interface EventTypeQuery {
  readonly tenantId: string | null;
  /** The last one of the page before; it may be gone. */
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

/** A registered event type; types that are not registered can be published too. */
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
