import { matches } from "../../core/event-type.ts";
import type { Endpoint } from "./endpoint.ts";

/**
 * The endpoints that subscribe to an event type, per tenant. Matching a type checks every pattern of the tenant once;
 * the result is cached until a webhook of the tenant changes.
 */
export class Subscriptions {
  readonly #tenants = new Map<string, TenantSubscriptions>();

  add(endpoint: Endpoint): void {
    const tenant = this.#tenant(endpoint.webhook.tenantId);
    tenant.endpoints.set(endpoint.webhook.id, endpoint);
    tenant.matches.clear();
  }

  remove(endpoint: Endpoint): void {
    const tenant = this.#tenant(endpoint.webhook.tenantId);
    tenant.endpoints.delete(endpoint.webhook.id);
    tenant.matches.clear();
  }

  /** In order of creation. Do not keep or change the array. */
  of(tenantId: string, type: string): readonly Endpoint[] {
    const tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) return [];
    const known = tenant.matches.get(type);
    if (known !== undefined) return known;
    const found = [...tenant.endpoints.values()].filter((endpoint) =>
      endpoint.webhook.events.some((pattern) => matches(pattern, type)),
    );
    if (tenant.matches.size >= matchesKeptMax) tenant.matches.clear();
    tenant.matches.set(type, found);
    return found;
  }

  /** All endpoints of a tenant. */
  endpoints(tenantId: string): readonly Endpoint[] {
    return [...(this.#tenants.get(tenantId)?.endpoints.values() ?? [])];
  }

  #tenant(tenantId: string): TenantSubscriptions {
    let tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) {
      tenant = { endpoints: new Map(), matches: new Map() };
      this.#tenants.set(tenantId, tenant);
    }
    return tenant;
  }
}

interface TenantSubscriptions {
  readonly endpoints: Map<string, Endpoint>;
  readonly matches: Map<string, readonly Endpoint[]>;
}

/** Publishers choose event types, so this bounds the cache of a tenant. */
const matchesKeptMax = 1_000;
