import type {
  IdempotencyAnswer,
  IdempotencyClaim,
  IdempotencyState,
  IdempotencyStore,
} from "../../../src/ports/store/idempotency.ts";
import type { BatchOperation, OperationStore } from "../../../src/ports/store/operations.ts";
import type { ApiKey, EventType, RegistryStore, Tenant } from "../../../src/ports/store/registry.ts";

export class ModelRegistry implements RegistryStore {
  readonly #tenants = new Map<string, Tenant>();
  readonly #apiKeys = new Map<string, ApiKey>();
  readonly #eventTypes = new Map<string, EventType>();

  async saveTenant(tenant: Tenant): Promise<void> {
    this.#tenants.set(tenant.id, tenant);
  }

  async tenants(): Promise<readonly Tenant[]> {
    return [...this.#tenants.values()];
  }

  async saveApiKey(key: ApiKey): Promise<void> {
    this.#apiKeys.set(key.id, key);
  }

  async deleteApiKey(id: string): Promise<boolean> {
    return this.#apiKeys.delete(id);
  }

  async apiKeys(): Promise<readonly ApiKey[]> {
    return [...this.#apiKeys.values()];
  }

  async saveEventType(eventType: EventType): Promise<void> {
    this.#eventTypes.set(eventTypeName(eventType), eventType);
  }

  async deleteEventType(query: { readonly tenantId: string; readonly name: string }): Promise<boolean> {
    return this.#eventTypes.delete(eventTypeName(query));
  }

  async eventTypes(): Promise<readonly EventType[]> {
    return [...this.#eventTypes.values()];
  }

  forgetExpired(now: number): number {
    const expired = [...this.#apiKeys.values()].filter(
      (key) => key.expiresAt !== null && key.expiresAt <= now,
    );
    for (const key of expired) this.#apiKeys.delete(key.id);
    return expired.length;
  }
}

function eventTypeName(query: { readonly tenantId: string; readonly name: string }): string {
  return JSON.stringify([query.tenantId, query.name]);
}

interface IdempotencyRow extends IdempotencyClaim {
  readonly answer: { readonly status: number; readonly body: string } | null;
}

export class ModelIdempotency implements IdempotencyStore {
  readonly #rows = new Map<string, IdempotencyRow>();

  async begin(entry: IdempotencyClaim): Promise<IdempotencyState> {
    const row = this.#rows.get(rowName(entry));
    const isGone = row === undefined || row.expiresAt <= entry.now;
    if (isGone || (row.answer === null && row.claimUntil <= entry.now)) {
      this.#rows.set(rowName(entry), { ...entry, answer: null });
      return { kind: "claimed" };
    }
    if (row.fingerprint !== entry.fingerprint) return { kind: "mismatch" };
    return row.answer === null ? { kind: "running" } : { kind: "finished", ...row.answer };
  }

  async finish(answer: IdempotencyAnswer): Promise<void> {
    const row = this.#rows.get(rowName(answer));
    const { status, body } = answer;
    if (row !== undefined) this.#rows.set(rowName(answer), { ...row, answer: { status, body } });
  }

  async abandon(query: { readonly scope: string; readonly key: string }): Promise<void> {
    this.#rows.delete(rowName(query));
  }

  forgetExpired(now: number): number {
    const expired = [...this.#rows].filter(([, row]) => row.expiresAt <= now);
    for (const [name] of expired) this.#rows.delete(name);
    return expired.length;
  }
}

function rowName(query: { readonly scope: string; readonly key: string }): string {
  return JSON.stringify([query.scope, query.key]);
}

export class ModelOperations implements OperationStore {
  readonly #rows = new Map<string, BatchOperation>();

  async save(operation: BatchOperation): Promise<void> {
    this.#rows.set(operation.id, operation);
  }

  async get(query: {
    readonly tenantId: string | null;
    readonly id: string;
  }): Promise<BatchOperation | null> {
    const row = this.#rows.get(query.id);
    return row === undefined || (query.tenantId !== null && row.tenantId !== query.tenantId) ? null : row;
  }

  async unfinished(): Promise<readonly BatchOperation[]> {
    return [...this.#rows.values()]
      .filter((row) => row.status === "pending" || row.status === "running")
      .toSorted((a, b) => a.createdAt - b.createdAt);
  }
}
