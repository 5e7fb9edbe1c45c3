import type {
  ClaimedKey,
  IdempotencyAnswer,
  IdempotencyClaim,
  IdempotencyState,
  IdempotencyStore,
} from "../../../src/ports/store/idempotency.ts";
import type { Page } from "../../../src/ports/store.ts";
import type { AuditStore } from "../../../src/ports/store/audit.ts";
import type { SearchPage } from "../../../src/ports/store/search.ts";
import type { BatchOperation, OperationStore } from "../../../src/ports/store/operations.ts";
import type {
  ApiKey,
  EventType,
  EventTypeKey,
  EventTypePage,
  EventTypeQuery,
  RegistryStore,
  Tenant,
} from "../../../src/ports/store/registry.ts";

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

  async deleteEventType(key: EventTypeKey): Promise<boolean> {
    return this.#eventTypes.delete(eventTypeName(key));
  }

  async eventType(key: EventTypeKey): Promise<EventType | null> {
    return this.#eventTypes.get(eventTypeName(key)) ?? null;
  }

  async eventTypePage(query: EventTypeQuery): Promise<EventTypePage> {
    const { tenantId, after, offset, limit, bytesMax } = query;
    const from = after === null ? "" : eventTypeName(after);
    const found = [...this.#eventTypes]
      .filter(([name, row]) => name > from && (tenantId === null || row.tenantId === tenantId))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .slice(offset)
      .map(([, row]) => row);
    const rows: EventType[] = [];
    for (
      let bytes = 0;
      rows.length < Math.min(limit, found.length) && (bytes < bytesMax || rows.length === 0);
    ) {
      const row = found[rows.length] as EventType;
      rows.push(row);
      bytes += bytesOf(row);
    }
    return { rows, next: rows.length < found.length ? (rows.at(-1) ?? null) : null };
  }

  async eventTypeUsage(tenantId: string): Promise<{ readonly count: number; readonly bytes: number }> {
    const rows = [...this.#eventTypes.values()].filter((row) => row.tenantId === tenantId);
    return { count: rows.length, bytes: rows.reduce((sum, row) => sum + bytesOf(row), 0) };
  }

  forgetExpired(now: number): number {
    const expired = [...this.#apiKeys.values()].filter(
      (key) => key.expiresAt !== null && key.expiresAt <= now,
    );
    for (const key of expired) this.#apiKeys.delete(key.id);
    return expired.length;
  }
}

/** Sorts by tenant, then by name. */
function eventTypeName({ tenantId, name }: EventTypeKey): string {
  return `${tenantId}\n${name}`;
}

function bytesOf(row: EventType): number {
  return Buffer.byteLength(JSON.stringify(row));
}

interface IdempotencyRow extends IdempotencyClaim {
  readonly answer: { readonly status: number; readonly body: string } | null;
}

export class ModelIdempotency implements IdempotencyStore {
  readonly #rows = new Map<string, IdempotencyRow>();

  async begin(entry: IdempotencyClaim): Promise<IdempotencyState> {
    const row = this.#rows.get(rowName(entry));
    const isGone = row === undefined || row.expiresAt <= entry.now;
    const isFree =
      !isGone && row.answer === null && (row.claimUntil <= entry.now || row.claimToken === entry.claimToken);
    if (isGone || isFree) {
      this.#rows.set(rowName(entry), { ...entry, answer: null });
      return { kind: "claimed" };
    }
    if (row.fingerprint !== entry.fingerprint) return { kind: "mismatch" };
    return row.answer === null ? { kind: "running" } : { kind: "finished", ...row.answer };
  }

  async finish(answer: IdempotencyAnswer): Promise<void> {
    const row = this.#heldBy(answer);
    const { status, body } = answer;
    if (row !== null) this.#rows.set(rowName(answer), { ...row, answer: { status, body } });
  }

  async abandon(claim: ClaimedKey): Promise<void> {
    if (this.#heldBy(claim) !== null) this.#rows.delete(rowName(claim));
  }

  async renew(claims: readonly ClaimedKey[], claimUntil: number): Promise<void> {
    for (const claim of claims) {
      const row = this.#heldBy(claim);
      if (row !== null) this.#rows.set(rowName(claim), { ...row, claimUntil });
    }
  }

  #heldBy(claim: ClaimedKey): IdempotencyRow | null {
    const row = this.#rows.get(rowName(claim));
    return row !== undefined && row.answer === null && row.claimToken === claim.claimToken ? row : null;
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

  async update(operation: BatchOperation): Promise<boolean> {
    if (this.#rows.get(operation.id)?.revision !== operation.revision) return false;
    this.#rows.set(operation.id, { ...operation, revision: operation.revision + 1 });
    return true;
  }

  async get(tenantId: string | null, id: string): Promise<BatchOperation | null> {
    const row = this.#rows.get(id);
    return row === undefined || (tenantId !== null && row.tenantId !== tenantId) ? null : row;
  }

  async list({ tenantId, page }: Parameters<OperationStore["list"]>[0]): Promise<Page<BatchOperation>> {
    const rows = [...this.#rows.values()].filter(
      (operation) => tenantId === null || operation.tenantId === tenantId,
    );
    return { rows: rows.toReversed().slice(page.offset, page.offset + page.limit), next: null };
  }

  async unfinished(): Promise<readonly BatchOperation[]> {
    return [...this.#rows.values()]
      .filter((row) => row.status === "pending" || row.status === "running")
      .toSorted((a, b) => a.createdAt - b.createdAt);
  }
}

/** Simulated worlds do not read the audit log. */
export class ModelAudit implements AuditStore {
  async append(): Promise<void> {}

  async search(): Promise<SearchPage<never>> {
    return { rows: [], next: null, searchedTo: null, isCutShort: false };
  }
}
