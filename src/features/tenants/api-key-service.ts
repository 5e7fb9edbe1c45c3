import { createHash, timingSafeEqual } from "node:crypto";
import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import type { AuditEntry } from "../../ports/store/audit.ts";
import type { ApiKey } from "../../ports/store/registry.ts";
import { apiKeyFields, type ApiKeyInput } from "../../resources/api-key.ts";
import { ProblemList, readFields } from "../input.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import { isVisible, resolveTenant } from "../visibility.ts";
import type { FeatureContext, Principal, Scope } from "../services.ts";

const keyBytes = 32;
/** Longer values cannot be valid keys and are not hashed. */
const keyLengthMax = 512;
/** Maximum number of valid keys per tenant. */
export const apiKeysPerTenantMax = 100;
/** The principal of the administrator key in the settings. */
const adminPrincipal: Principal = { keyId: "admin", role: "admin", tenantId: null };

/**
 * API keys consist of `phk_` and 32 random bytes. Only their SHA-256 is stored, which is sufficient for keys that
 * cannot be guessed. The lookup by hash leaks nothing through timing, because a caller cannot control the prefix of a
 * hash.
 */
export class ApiKeys {
  readonly #context: FeatureContext;
  readonly #adminKeyHash: string | null;
  readonly #byHash = new Map<string, ApiKey>();
  readonly #creations = new KeyedQueue();
  #changes = 0;

  constructor(context: FeatureContext, adminKeyHash: string | null) {
    this.#context = context;
    this.#adminKeyHash = adminKeyHash;
  }

  /**
   * Loads the keys at startup and after changes by other processes. Until the first load, only the administrator key is
   * known.
   */
  async load(): Promise<void> {
    for (let changes = -1; changes !== this.#changes; ) {
      changes = this.#changes;
      const stored = await this.#context.store.registry.apiKeys();
      // Read again if this process made changes during the read, because the result may lack them.
      if (changes !== this.#changes) continue;
      this.#byHash.clear();
      for (const apiKey of stored) this.#byHash.set(apiKey.hash, apiKey);
    }
  }

  /** The principal of the key; null if the key is not valid. Takes constant time regardless of the key. */
  authenticate(presentedKey: string): Principal | null {
    if (presentedKey.length === 0 || presentedKey.length > keyLengthMax) return null;
    return this.holderOf(hashApiKey(presentedKey));
  }

  /** The stored form of a key, which reveals nothing about it. */
  hashOf(key: string): string {
    return hashApiKey(key);
  }

  /** The principal of the key with this hash; null if no such key exists. */
  holderOf(hash: string): Principal | null {
    const { clock } = this.#context;
    if (this.#adminKeyHash !== null && isEqual(hash, this.#adminKeyHash)) return adminPrincipal;
    const apiKey = this.#byHash.get(hash);
    if (apiKey === undefined || !isEqual(hash, apiKey.hash)) return null;
    if (apiKey.expiresAt !== null && apiKey.expiresAt <= clock.now()) return null;
    return { keyId: apiKey.id, role: apiKey.role, tenantId: apiKey.tenantId };
  }

  /** A tenant can create keys only for itself, and never administrator keys. */
  async create(scope: Scope, input: ApiKeyInput): Promise<{ readonly apiKey: ApiKey; readonly key: string }> {
    const {
      access,
      clock,
      random,
      store: { registry },
    } = this.#context;
    const now = clock.now();
    validate(input, now);
    const { name, role, tenantId = null, expiresAt = null } = input;
    if (role === "admin" && scope.tenantId !== null) {
      throw new PosthornError("forbidden", "only an administrator can create administrator keys");
    }
    const key = `phk_${Buffer.from(random.bytes(keyBytes)).toString("base64url")}`;
    const apiKey: ApiKey = {
      id: access.nextId(),
      name,
      hash: hashApiKey(key),
      hint: key.slice(-4),
      role,
      tenantId: role === "admin" ? null : resolveTenant(this.#context.tenants, scope, tenantId),
      createdAt: now,
      expiresAt,
    };
    await this.#creations.run(apiKey.tenantId ?? "", async () => {
      await this.#makeRoom(apiKey.tenantId);
      await registry.saveApiKey(apiKey, scope.audit?.take(apiKey));
      this.#byHash.set(apiKey.hash, apiKey);
      this.#changes += 1;
    });
    return { apiKey, key };
  }

  /** Deletes expired keys when the limit is reached, so that their number is bounded too. */
  async #makeRoom(tenantId: string | null): Promise<void> {
    if (tenantId === null) return;
    const own = [...this.#byHash.values()].filter((apiKey) => apiKey.tenantId === tenantId);
    if (own.length < apiKeysPerTenantMax) return;
    const now = this.#context.clock.now();
    const expired = own.find(({ expiresAt }) => expiresAt !== null && expiresAt <= now);
    if (expired === undefined) {
      const message = `the limit of ${apiKeysPerTenantMax} API keys for a tenant is reached; revoke one of its ${own.length} first`;
      throw new PosthornError("limit_reached", message);
    }
    await this.#remove(expired);
  }

  /** The name of the key; null if it was deleted. */
  nameOf(keyId: string): string | null {
    if (keyId === adminPrincipal.keyId) return "POSTHORN_ADMIN_KEY";
    return [...this.#byHash.values()].find(({ id }) => id === keyId)?.name ?? null;
  }

  async list(scope: Scope): Promise<readonly ApiKey[]> {
    return [...this.#byHash.values()]
      .filter((apiKey) => isVisible(scope, apiKey.tenantId))
      .toSorted((left, right) => (left.id > right.id ? -1 : 1));
  }

  async revoke(scope: Scope, id: string): Promise<void> {
    const apiKey = [...this.#byHash.values()].find((known) => known.id === id);
    if (apiKey === undefined || !isVisible(scope, apiKey.tenantId)) throw new NotFoundError("the API key");
    await this.#remove(apiKey, scope.audit?.take(apiKey));
  }

  async #remove({ id, hash }: ApiKey, audit?: AuditEntry): Promise<void> {
    await this.#context.store.registry.deleteApiKey(id, audit);
    this.#byHash.delete(hash);
    this.#changes += 1;
  }
}

/** The stored form of a key: its SHA-256 in hexadecimal. */
export function hashApiKey(key: string): string {
  return createHash("sha256").update(key, "utf8").digest("hex");
}

function isEqual(hash: string, expected: string): boolean {
  return hash.length === expected.length && timingSafeEqual(Buffer.from(hash), Buffer.from(expected));
}

function validate(given: ApiKeyInput, now: number): void {
  const problems = new ProblemList();
  const { role, tenantId = null, expiresAt = null } = readFields(apiKeyFields, given, problems);
  if (role === "admin" && tenantId !== null) {
    problems.add({
      field: "tenant_id",
      message: "must be omitted: an administrator key is valid for all tenants",
    });
  }
  if (expiresAt !== null && expiresAt <= now) {
    problems.add({ field: "expires_at", message: "must be in the future" });
  }
  problems.throwIfAny("the API key");
}
