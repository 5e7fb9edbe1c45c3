/** Services for registered resources: event types, tenants and keys; and authentication. */
import type { PortalScope, Scope } from "../domain/scope.ts";
import type {
  ApiKey,
  ApiKeyRole,
  EventType,
  EventTypeKey,
  EventTypePage,
  Tenant,
} from "../ports/store/registry.ts";
import type { ApiKeyInput, EventTypeFields, TenantInput } from "../resources/registry.ts";

export interface EventTypeService {
  /**
   * Sorted by tenant and name. A page ends after `limit` rows (50) or about a megabyte; `next` is the `after` of the
   * next.
   */
  list(scope: Scope, query: EventTypeListQuery): Promise<EventTypePage>;
  get(scope: Scope, query: EventTypeName): Promise<EventType>;
  put(
    scope: Scope,
    command: EventTypeInput,
  ): Promise<{ readonly eventType: EventType; readonly created: boolean }>;
  delete(scope: Scope, query: EventTypeName): Promise<void>;
}

/** Null means the tenant of the scope. */
export interface EventTypeName {
  readonly tenantId: string | null;
  readonly name: string;
}

export interface EventTypeListQuery {
  readonly tenantId: string | null;
  readonly limit?: number;
  readonly offset?: number;
  readonly after?: EventTypeKey | null;
}

export interface EventTypeInput extends EventTypeFields, EventTypeName {}

export interface TenantService {
  list(scope: Scope): Promise<readonly Tenant[]>;
  get(scope: Scope, id: string): Promise<Tenant>;
  /** Creates or merges. */
  put(
    scope: Scope,
    command: PutTenantCommand,
  ): Promise<{ readonly tenant: Tenant; readonly created: boolean }>;
}

export interface PutTenantCommand {
  readonly id: string;
  readonly input: TenantInput;
}

export interface ApiKeyService {
  /** The principal of the key, or null. Constant-time in the key. */
  authenticate(presentedKey: string): Principal | null;
  /** The stored form of a key, which reveals nothing about it. */
  hashOf(key: string): string;
  /** The name of the key; null if it was deleted. */
  nameOf(keyId: string): string | null;
  /** The principal of the key with this hash, or null. */
  holderOf(hash: string): Principal | null;
  create(scope: Scope, input: ApiKeyInput): Promise<{ readonly apiKey: ApiKey; readonly key: string }>;
  list(scope: Scope): Promise<readonly ApiKey[]>;
  revoke(scope: Scope, id: string): Promise<void>;
}

/** The caller: the owner of a key or, with `portal` and the role `session`, a customer. */
export interface Principal {
  /** Id of the key or session. */
  readonly keyId: string;
  readonly role: ApiKeyRole | "session";
  readonly tenantId: string | null;
  readonly portal?: PortalScope;
}
