import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import { generateEd25519Key } from "../../domain/signing/signing-key.ts";
import { changedAt } from "../../domain/webhook.ts";
import type { Clock } from "../../ports/clock.ts";
import { defaultWorkerPool, type RegistryStore, type Tenant } from "../../ports/store/registry.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";
import { judgeField } from "../../resources/field.ts";
import { tenantIdField } from "../../resources/names.ts";
import { tenantFields, type TenantInput } from "../../resources/tenant.ts";
import { mergeRateLimit, ProblemList, readFields } from "../input.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import type { FeatureContext, Scope } from "../services.ts";

interface PutTenantCommand {
  readonly id: string;
  readonly input: TenantInput;
}

interface PutTenant {
  readonly tenant: Tenant;
  readonly created: boolean;
}

/** Fields of a tenant that the tenant itself cannot set. */
const setByAdministrators = ["rateLimit", "webhooksMax", "workerPool"] as const;

/** Administrators see all tenants and can create them; a tenant sees only itself and cannot change its own limits. */
export class Tenants {
  readonly #context: FeatureContext;
  readonly #changes = new KeyedQueue();

  constructor(context: FeatureContext) {
    this.#context = context;
  }

  async list(scope: Scope): Promise<readonly Tenant[]> {
    return this.#context.tenants.all().filter(({ id }) => scope.tenantId === null || scope.tenantId === id);
  }

  async get(scope: Scope, id: string): Promise<Tenant> {
    const tenant = this.#context.tenants.get(id);
    if (tenant === undefined || (scope.tenantId !== null && scope.tenantId !== id))
      throw new NotFoundError("the tenant");
    return tenant;
  }

  /** Creates a tenant or merges the input into it. */
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
    const {
      tenants,
      access,
      clock,
      store: { registry },
    } = this.#context;
    const existing = tenants.get(id);
    const now = clock.now();
    const problems = new ProblemList();
    for (const problem of judgeField(tenantIdField, "id", id)) problems.add(problem);
    const base = existing ?? newTenant(id, now);
    const read = readFields(tenantFields, input, problems);
    const rateLimit = mergeRateLimit(base.rateLimit, read.rateLimit);
    const tenant: Tenant = { ...base, ...read, rateLimit, updatedAt: changedAt(base.updatedAt, now) };
    problems.throwIfAny("the tenant");
    await registry.saveTenant(tenant, scope.audit?.take({ id, tenantId: id }));
    tenants.set(tenant);
    access.applyTenantLimit(id, tenant.rateLimit);
    return { tenant, created: existing === undefined };
  }
}

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

  /** Called after the store has written the tenant. */
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

/** A new tenant has no limits. */
function newTenant(id: string, now: number): Tenant {
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

/** The Ed25519 key shared by a tenant's webhooks, created when the first of them signs with `v1a` (TS16-73). */
export class TenantKeys {
  readonly #context: FeatureContext;
  /** Stored as promises, so that two webhooks created concurrently get the same key. */
  readonly #known = new Map<string, Promise<readonly StoredSecret[]>>();

  constructor(context: FeatureContext) {
    this.#context = context;
  }

  /** The keys, latest first. If the tenant has no key, one is created and activated. */
  ensure(tenantId: string): Promise<readonly StoredSecret[]> {
    const known = this.#known.get(tenantId);
    if (known !== undefined) return known;
    const keys = this.#readOrCreate(tenantId);
    this.#known.set(tenantId, keys);
    keys.catch(() => this.#known.delete(tenantId));
    return keys;
  }

  /**
   * Called when another process created or replaced the keys of these tenants. The keys are read again on the next use.
   */
  forget(tenantIds: readonly string[]): void {
    for (const tenantId of tenantIds) this.#known.delete(tenantId);
  }

  async #readOrCreate(tenantId: string): Promise<readonly StoredSecret[]> {
    const {
      access,
      secretBox,
      clock,
      random,
      store: { webhooks: store },
    } = this.#context;
    let keys = await store.tenantKeys(tenantId);
    if (keys.length === 0) {
      const plaintext = generateEd25519Key((count) => random.bytes(count)).secret;
      const ciphertext = secretBox.seal(plaintext, tenantId);
      const digest = secretBox.digest(plaintext);
      keys = [{ kind: "ed25519", ciphertext, digest, createdAt: clock.now(), expiresAt: null }];
      await store.saveTenantKeys(tenantId, keys);
    }
    // Required for existing keys too, because at startup the engine loads only the keys of tenants with webhooks.
    access.applyTenantKeys(tenantId, keys);
    return keys.toSorted((left, right) => right.createdAt - left.createdAt);
  }
}
