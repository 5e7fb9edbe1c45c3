import { NotFoundError, PosthornError } from "../../core/errors.ts";
import { changedAt } from "../../core/webhook.ts";
import type { RateLimitConfig } from "../../core/profile.ts";
import type { Clock } from "../../ports/clock.ts";
import { defaultWorkerPool } from "../../ports/store/registry.ts";
import type { RegistryStore, Tenant } from "../../ports/store/registry.ts";
import type { EngineAccess } from "../engine-access.ts";
import type { Scope, TenantInput, TenantService } from "../services.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { isRecord, ProblemList } from "./problem-list.ts";
import { newTenant, type TenantDirectory } from "./tenant-directory.ts";

export interface TenantServiceOptions {
  readonly registry: RegistryStore;
  readonly tenants: TenantDirectory;
  readonly access: Pick<EngineAccess, "applyTenantLimit">;
  readonly clock: Clock;
}

const tenantId = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const poolName = tenantId;
/** What a tenant cannot give itself. */
const setByAdministrators = ["rateLimit", "webhooksMax", "workerPool"] as const;
const nameLengthMax = 200;
const limitMax = 1_000_000;

/** Tenants. Administrators see and make them all; a tenant sees itself, and cannot lift its own limits. */
export class Tenants implements TenantService {
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

  async put(scope: Scope, command: Parameters<TenantService["put"]>[1]): ReturnType<TenantService["put"]> {
    const { id, input } = command;
    if (scope.tenantId !== null && scope.tenantId !== id) throw new NotFoundError("the tenant");
    if (scope.tenantId !== null && setByAdministrators.some((field) => input[field] !== undefined)) {
      throw new PosthornError(
        "forbidden",
        "only an administrator sets the limits and the worker pool of a tenant",
      );
    }
    return this.#changes.run(id, () => this.#put(id, input));
  }

  async #put(id: string, input: TenantInput): ReturnType<TenantService["put"]> {
    const { registry, tenants, access, clock } = this.#options;
    const existing = tenants.get(id);
    const now = clock.now();
    const problems = new ProblemList();
    if (!tenantId.test(id)) {
      problems.add({
        field: "id",
        message: "must be 1 to 63 of a-z, 0-9, _ and -, beginning with a letter or digit",
      });
    }
    const base = existing ?? newTenant(id, now);
    const tenant = { ...mergeTenant(base, { input, problems }), updatedAt: changedAt(base, now) };
    problems.throwIfAny("the tenant");
    await registry.saveTenant(tenant);
    tenants.set(tenant);
    access.applyTenantLimit({ tenantId: id, rateLimit: tenant.rateLimit });
    return { tenant, created: existing === undefined };
  }
}

function mergeTenant(
  base: Tenant,
  change: { readonly input: TenantInput; readonly problems: ProblemList },
): Tenant {
  const { input, problems } = change;
  const { name, rateLimit, webhooksMax, workerPool } = input;
  return {
    ...base,
    name:
      name === undefined
        ? base.name
        : (problems.text("name", { value: name, lengthMin: 1, lengthMax: nameLengthMax }) ?? ""),
    rateLimit: rateLimit === undefined ? base.rateLimit : readRateLimit(rateLimit, problems),
    webhooksMax: webhooksMax === undefined ? base.webhooksMax : readWebhooksMax(webhooksMax, problems),
    workerPool: workerPool === undefined ? base.workerPool : readWorkerPool(workerPool, problems),
  };
}

function readWebhooksMax(value: unknown, problems: ProblemList): number | null {
  return value === null
    ? null
    : problems.number("webhooks_max", { value, min: 0, max: limitMax, whole: true });
}

/** Whether workers of that name run is for operators to see: they come and go. */
function readWorkerPool(value: unknown, problems: ProblemList): string {
  if (typeof value === "string" && poolName.test(value)) return value;
  problems.add({
    field: "worker_pool",
    message: "must be 1 to 63 of a-z, 0-9, _ and -, beginning with a letter or digit",
  });
  return defaultWorkerPool;
}

function readRateLimit(value: unknown, problems: ProblemList): RateLimitConfig | null {
  if (value === null) return null;
  if (!isRecord(value)) {
    problems.add({ field: "rate_limit", message: "must be an object, or null" });
    return null;
  }
  const range = { min: 1, max: limitMax, whole: true };
  const requestsPerMinute = problems.number("rate_limit.requests_per_minute", {
    ...range,
    value: value["requestsPerMinute"],
  });
  const burst = problems.number("rate_limit.burst", { ...range, value: value["burst"] });
  return requestsPerMinute === null || burst === null ? null : { requestsPerMinute, burst };
}
