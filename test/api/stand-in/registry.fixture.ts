/** Tenants, API keys and event types of the engine stand-in. */
import { createHash, randomUUID } from "node:crypto";
import { InvalidRequestError, NotFoundError, PosthornError } from "../../../src/domain/errors.ts";
import { mergeRateLimit } from "../../../src/features/input.ts";
import type {
  ApiKeyService,
  EventTypeService,
  Principal,
  Scope,
  TenantInput,
  TenantService,
} from "../../../src/features/services.ts";
import type { ApiKey, EventType, EventTypeKey, Tenant } from "../../../src/ports/store/registry.ts";

export interface StandInTenants extends TenantService {
  exists(id: string): boolean;
}

export function createTenants(now: () => number): StandInTenants {
  const tenants = new Map<string, Tenant>();
  const put = (id: string, input: TenantInput): Tenant => {
    const before = tenants.get(id);
    const rateLimit = mergeRateLimit(before?.rateLimit ?? null, input.rateLimit);
    const unlimited = { rateLimit: null, webhooksMax: null, workerPool: "default" };
    const empty = { name: id, ...unlimited, createdAt: now() };
    const tenant: Tenant = { ...empty, ...before, ...input, rateLimit, id, updatedAt: now() };
    tenants.set(id, tenant);
    return tenant;
  };
  put("default", {});
  return {
    exists: (id) => tenants.has(id),
    list: async () => [...tenants.values()],
    get: async (scope, id) => {
      const tenant = tenants.get(id);
      if (tenant === undefined || (scope.tenantId ?? id) !== id) throw new NotFoundError("this tenant");
      return tenant;
    },
    put: async (_, { id, input }) => {
      const created = !tenants.has(id);
      return { tenant: put(id, input), created };
    },
  };
}

export function createApiKeys(options: {
  readonly adminKey: string;
  readonly now: () => number;
  readonly tenants: StandInTenants;
}): ApiKeyService {
  const { now, tenants } = options;
  const keys = new Map<string, ApiKey>();
  const add = (key: string, rest: Pick<ApiKey, "name" | "role" | "tenantId" | "expiresAt">): ApiKey => {
    const apiKey = { ...rest, id: randomUUID(), hash: hashOf(key), hint: key.slice(-4), createdAt: now() };
    keys.set(apiKey.hash, apiKey);
    return apiKey;
  };
  add(options.adminKey, { name: "admin", role: "admin", tenantId: null, expiresAt: null });
  const nameOf = (keyId: string) => [...keys.values()].find(({ id }) => id === keyId)?.name ?? null;
  const visible = (scope: Scope) =>
    [...keys.values()].filter((key) => scope.tenantId === null || key.tenantId === scope.tenantId);
  const holderOf = (hash: string): Principal | null => {
    const key = keys.get(hash);
    if (key === undefined || (key.expiresAt ?? Infinity) <= now()) return null;
    return { keyId: key.id, role: key.role, tenantId: key.tenantId };
  };
  return {
    nameOf,
    hashOf,
    authenticate: (presented) => holderOf(hashOf(presented)),
    holderOf,
    create: async (_, input) => {
      if (input.role === "admin" && input.tenantId !== null) {
        throw new InvalidRequestError("not valid", [
          { field: "tenant_id", message: "must be absent for an admin key" },
        ]);
      }
      const tenantId = input.role === "admin" ? null : (input.tenantId ?? "default");
      if (tenantId !== null && !tenants.exists(tenantId)) {
        throw new InvalidRequestError("not valid", [{ field: "tenant_id", message: "does not exist" }]);
      }
      const key = `phk_${randomUUID()}`;
      return { apiKey: add(key, { expiresAt: null, ...input, tenantId }), key };
    },
    list: async (scope) => visible(scope),
    revoke: async (scope, id) => {
      const found = visible(scope).find((key) => key.id === id);
      if (found === undefined) throw new NotFoundError("this key");
      keys.delete(found.hash);
    },
  };
}

function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

export function createEventTypes(now: () => number): EventTypeService {
  const eventTypes = new Map<string, EventType>();
  const tenantOf = (scope: Scope, asked: string | null) => scope.tenantId ?? asked ?? "default";
  const find = (key: string): EventType => {
    const found = eventTypes.get(key);
    if (found === undefined) throw new NotFoundError("this event type");
    return found;
  };
  return {
    list: async (scope, { tenantId, after = null, offset = 0, limit = 50 }) => {
      const nameOf = (key: EventTypeKey) => `${key.tenantId}/${key.name}`;
      const from = after === null ? "" : nameOf(after);
      const found = [...eventTypes.values()]
        .filter((type) => type.tenantId === (scope.tenantId ?? tenantId ?? type.tenantId))
        .filter((type) => nameOf(type) > from)
        .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
        .slice(offset);
      const rows = found.slice(0, limit);
      return { rows, next: found.length > limit ? (rows.at(-1) ?? null) : null };
    },
    get: async (scope, { tenantId, name }) => find(`${tenantOf(scope, tenantId)}/${name}`),
    put: async (scope, { tenantId, ...input }) => {
      const key = `${tenantOf(scope, tenantId)}/${input.name}`;
      const before = eventTypes.get(key);
      const empty = { description: "", schema: null, examples: [], deprecated: false, createdAt: now() };
      if (JSON.stringify(input.schema ?? null).includes('"$ref":"http')) {
        throw new PosthornError("invalid_request", "not valid", {
          fields: [{ field: "schema", message: "must not refer to other documents" }],
        });
      }
      const eventType: EventType = {
        ...empty,
        ...before,
        ...input,
        tenantId: tenantOf(scope, tenantId),
        updatedAt: now(),
      };
      eventTypes.set(key, eventType);
      return { eventType, created: before === undefined };
    },
    delete: async (scope, { tenantId, name }) => {
      const key = `${tenantOf(scope, tenantId)}/${name}`;
      find(key);
      eventTypes.delete(key);
    },
  };
}
