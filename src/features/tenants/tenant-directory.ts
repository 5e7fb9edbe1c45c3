import type { Clock } from "../../ports/clock.ts";
import { defaultWorkerPool, type RegistryStore, type Tenant } from "../../ports/store/registry.ts";

/** The tenant that always exists, so that single-tenant users never need to pass a tenant. */
export const defaultTenantId = "default";

/** All tenants in memory, because publishing checks the tenant of each event. */
export class TenantDirectory {
  readonly #tenants = new Map<string, Tenant>();

  has(id: string): boolean {
    return this.#tenants.has(id);
  }

  get(id: string): Tenant | undefined {
    return this.#tenants.get(id);
  }

  all(): readonly Tenant[] {
    return [...this.#tenants.values()];
  }

  /** Drops tenants that the store no longer contains. */
  keepOnly(stored: readonly Tenant[]): void {
    const ids = new Set(stored.map(({ id }) => id));
    for (const id of this.#tenants.keys()) if (!ids.has(id)) this.#tenants.delete(id);
  }

  /** Called after the store has written it. */
  set(tenant: Tenant): void {
    this.#tenants.set(tenant.id, tenant);
  }
}

/** Loads the tenants, and creates `default` on the first start. */
export async function loadTenantDirectory(registry: RegistryStore, clock: Clock): Promise<TenantDirectory> {
  const directory = new TenantDirectory();
  for (const tenant of await registry.tenants()) directory.set(tenant);
  if (directory.has(defaultTenantId)) return directory;
  const tenant = newTenant(defaultTenantId, clock.now());
  await registry.saveTenant(tenant);
  directory.set(tenant);
  return directory;
}

/** Has no limits. */
export function newTenant(id: string, now: number): Tenant {
  return {
    id,
    name: id,
    rateLimit: null,
    webhooksMax: null,
    workerPool: defaultWorkerPool,
    createdAt: now,
    updatedAt: now,
  };
}
