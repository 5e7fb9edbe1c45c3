import { type Clock, Loop } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { StoreChange, StoreChanges } from "../ports/store/changes.ts";
import type { RegistryStore } from "../ports/store/registry.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { EngineAccess } from "../engine/engine-access.ts";
import type { ApiKeys } from "./tenants/api-key-service.ts";
import type { SchemaRegistry } from "./event-types/schema-registry.ts";
import type { GatewayDirectory } from "./gateway/gateway-directory.ts";
import type { TenantDirectory, TenantKeys } from "./tenants/tenant-service.ts";

export interface RegistryReloadOptions {
  readonly registry: RegistryStore;
  /** Sources of change notifications. */
  readonly changes: readonly StoreChanges[];
  readonly isShared: boolean;
  /** Calls the listener when the database was restarted or replaced. */
  readonly watchRestarts?: (listener: () => void) => () => void;
  readonly tenants: TenantDirectory;
  readonly schemas: SchemaRegistry;
  readonly apiKeys: ApiKeys;
  readonly tenantKeys: TenantKeys;
  /** Caches of the portal to clear. */
  readonly portal: readonly { forget(): void }[];
  readonly gateway: Pick<GatewayDirectory, "load">;
  readonly access: Pick<EngineAccess, "applyTenantLimit">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Telemetry["log"];
}

/** Tables that are cached in memory. */
const tables = ["tenants", "api_keys", "event_types", "portal", "gateway"] as const;
type Table = (typeof tables)[number];

/**
 * Reloads tenants, API keys and event types when another process changes them, and periodically (WDS-179). Changes in
 * quick succession cause one reload.
 */
export class RegistryReload {
  readonly #options: RegistryReloadOptions;
  readonly #due = new Set<Table>();
  readonly #unsubscribe: (() => void)[] = [];
  readonly #reading: Loop;
  readonly #periodic: Loop;
  /** Whether the stored rows take precedence even over newer data in memory. */
  #isFromScratch = false;

  constructor(options: RegistryReloadOptions) {
    const { clock, random, log } = options;
    this.#options = options;
    const failed = (error: unknown): void =>
      log.warn({ err: String(error) }, "failed to reload a change of another process");
    this.#reading = new Loop({ clock, round: () => this.#read(), failed });
    this.#periodic = new Loop({
      clock,
      round: async () => this.#readAgain(tables),
      pauseMs: () => reloadMsMax * (0.5 + random.uniform() / 2),
      failed,
    });
  }

  start(): void {
    const { changes, isShared, watchRestarts } = this.#options;
    if (!isShared) return;
    for (const source of changes) this.#unsubscribe.push(source.subscribe((change) => this.#heard(change)));
    const ended = watchRestarts?.(() => {
      this.#isFromScratch = true;
      this.#readAgain(tables);
    });
    if (ended !== undefined) this.#unsubscribe.push(ended);
    this.#periodic.start();
  }

  async stop(): Promise<void> {
    for (const end of this.#unsubscribe) end();
    await Promise.all([this.#periodic.stop(), this.#reading.stop()]);
  }

  #heard(change: StoreChange): void {
    if (change.kind === "unknown") return this.#readAgain(tables);
    if (change.kind !== "config") return;
    const { change: what } = change;
    if (what.kind === "tenant_keys") this.#options.tenantKeys.forget(what.tenantIds);
    // The cache must not serve an ended session.
    if (what.kind === "portal") for (const part of this.#options.portal) part.forget();
    const table = tables.find((name) => name === what.kind && name !== "portal");
    if (table !== undefined) this.#readAgain([table]);
  }

  #readAgain(which: readonly Table[]): void {
    for (const table of which) this.#due.add(table);
    this.#reading.soon(gatherMs);
  }

  async #read(): Promise<void> {
    const due = [...this.#due];
    this.#due.clear();
    for (const table of due) await this.#readTable(table);
  }

  async #readTable(table: Table): Promise<void> {
    const { apiKeys, schemas } = this.#options;
    if (table === "api_keys") await apiKeys.load();
    else if (table === "event_types") schemas.mayHaveChanged();
    else if (table === "portal") for (const part of this.#options.portal) part.forget();
    else if (table === "gateway") await this.#options.gateway.load();
    else await this.#readTenants();
  }

  async #readTenants(): Promise<void> {
    const { registry, tenants, access } = this.#options;
    const isFromScratch = this.#isFromScratch;
    const stored = await registry.tenants();
    if (isFromScratch) tenants.keepOnly(stored);
    for (const tenant of stored) {
      const known = tenants.get(tenant.id);
      // The entry was changed here during the read.
      if (!isFromScratch && known !== undefined && known.updatedAt > tenant.updatedAt) continue;
      tenants.set(tenant);
      const { id: tenantId, rateLimit } = tenant;
      if (JSON.stringify(known?.rateLimit ?? null) !== JSON.stringify(rateLimit))
        access.applyTenantLimit(tenantId, rateLimit);
    }
    if (isFromScratch) this.#isFromScratch = false;
  }
}

const gatherMs = 20;
const reloadMsMax = 300_000;
