import type { Clock } from "../../ports/clock.ts";
import { defaultWorkerPool } from "../../ports/store/registry.ts";
import type { RegistryStore, Tenant } from "../../ports/store/registry.ts";

/** The tenant that exists from the start, so that single-tenant users never meet the word. */
export const defaultTenantId = "default";

/** Every tenant, in memory: publishing asks for each event whether its tenant exists. */
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

  /** Forgets tenants that the store lost. */
  keepOnly(stored: readonly Tenant[]): void {
    const ids = new Set(stored.map(({ id }) => id));
    for (const id of this.#tenants.keys()) if (!ids.has(id)) this.#tenants.delete(id);
  }

  /** After the store has it. */
  set(tenant: Tenant): void {
    this.#tenants.set(tenant.id, tenant);
  }
}

/** Reads the tenants, and makes `default` on the first start. */
export async function loadTenantDirectory(from: {
  readonly registry: RegistryStore;
  readonly clock: Clock;
}): Promise<TenantDirectory> {
  const directory = new TenantDirectory();
  for (const tenant of await from.registry.tenants()) directory.set(tenant);
  if (directory.has(defaultTenantId)) return directory;
  const tenant = newTenant(defaultTenantId, from.clock.now());
  await from.registry.saveTenant(tenant);
  directory.set(tenant);
  return directory;
}

/** Without limits. */
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
