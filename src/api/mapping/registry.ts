import type { ApiKey, EventType, Tenant } from "../../ports/store/registry.ts";
import { formatInstant, formatInstantOrNull } from "./instant.ts";

export function eventTypeJson(eventType: EventType): Record<string, unknown> {
  return {
    name: eventType.name,
    tenant_id: eventType.tenantId,
    description: eventType.description,
    schema: eventType.schema ?? null,
    examples: eventType.examples,
    deprecated: eventType.deprecated,
    created_at: formatInstant(eventType.createdAt),
    updated_at: formatInstant(eventType.updatedAt),
  };
}

export function tenantJson(tenant: Tenant): Record<string, unknown> {
  const { rateLimit } = tenant;
  return {
    id: tenant.id,
    name: tenant.name,
    rate_limit: rateLimit && { requests_per_minute: rateLimit.requestsPerMinute, burst: rateLimit.burst },
    webhooks_max: tenant.webhooksMax,
    worker_pool: tenant.workerPool,
    created_at: formatInstant(tenant.createdAt),
    updated_at: formatInstant(tenant.updatedAt),
  };
}

/** Never the hash. */
export function apiKeyJson(apiKey: ApiKey): Record<string, unknown> {
  return {
    id: apiKey.id,
    name: apiKey.name,
    role: apiKey.role,
    tenant_id: apiKey.tenantId,
    hint: apiKey.hint,
    created_at: formatInstant(apiKey.createdAt),
    expires_at: formatInstantOrNull(apiKey.expiresAt),
  };
}
