import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import { changedAt } from "../../domain/webhook.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RegistryStore, Tenant } from "../../ports/store/registry.ts";
import { judgeField } from "../../resources/judge.ts";
import { tenantIdField } from "../../resources/names.ts";
import { tenantFields, type TenantInput } from "../../resources/tenant.ts";
import { mergeRateLimit, ProblemList, readFields } from "../input.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import type { Scope } from "../services.ts";
import { newTenant, type TenantDirectory } from "./tenant-directory.ts";

export interface TenantServiceOptions {
  readonly registry: RegistryStore;
  readonly tenants: TenantDirectory;
  readonly access: Pick<EngineAccess, "applyTenantLimit">;
  readonly clock: Clock;
}

interface PutTenantCommand {
  readonly id: string;
  readonly input: TenantInput;
}

interface PutTenant {
  readonly tenant: Tenant;
  readonly created: boolean;
}

/** Fields that a tenant cannot set itself. */
const setByAdministrators = ["rateLimit", "webhooksMax", "workerPool"] as const;

/** Administrators see and create all tenants; a tenant sees itself and cannot change its own limits. */
export class Tenants {
  readonly #options: TenantServiceOptions;
  readonly #changes = new KeyedQueue();

  constructor(options: TenantServiceOptions) {
    this.#options = options;
  }

  async list(scope: Scope): Promise<readonly Tenant[]> {
    return this.#options.tenants.all().filter(({ id }) => scope.tenantId === null || scope.tenantId === id);
  }

  async get(scope: Scope, id: string): Promise<Tenant> {
    const tenant = this.#options.tenants.get(id);
    if (tenant === undefined || (scope.tenantId !== null && scope.tenantId !== id))
      throw new NotFoundError("the tenant");
    return tenant;
  }

  /** Creates or merges. */
  async put(scope: Scope, command: PutTenantCommand): Promise<PutTenant> {
    const { id, input } = command;
    if (scope.tenantId !== null && scope.tenantId !== id) throw new NotFoundError("the tenant");
    if (scope.tenantId !== null && setByAdministrators.some((field) => input[field] !== undefined)) {
      throw new PosthornError(
        "forbidden",
        "only an administrator can set the limits and the worker pool of a tenant",
      );
    }
    return this.#changes.run(id, () => this.#put(scope, command));
  }

  async #put(scope: Scope, { id, input }: PutTenantCommand): Promise<PutTenant> {
    const { registry, tenants, access, clock } = this.#options;
    const existing = tenants.get(id);
    const now = clock.now();
    const problems = new ProblemList();
    for (const problem of judgeField(tenantIdField, { path: "id", value: id })) problems.add(problem);
    const base = existing ?? newTenant(id, now);
    const read = readFields(tenantFields, input, problems);
    const rateLimit = mergeRateLimit(base.rateLimit, read.rateLimit);
    const tenant: Tenant = { ...base, ...read, rateLimit, updatedAt: changedAt(base.updatedAt, now) };
    problems.throwIfAny("the tenant");
    await registry.saveTenant(tenant, scope.audit?.take({ id, tenantId: id }));
    tenants.set(tenant);
    access.applyTenantLimit({ tenantId: id, rateLimit: tenant.rateLimit });
    return { tenant, created: existing === undefined };
  }
}
