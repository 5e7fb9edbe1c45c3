import { tryParseJson } from "../../../domain/json/json-text.ts";
import { Loop } from "../../../ports/clock.ts";
import type { ConfigChange, StoreChange, StoreChanges } from "../../../ports/store/changes.ts";
import type { GatewayStore } from "../../../ports/store/gateway.ts";
import type { PortalStore } from "../../../ports/store/portal.ts";
import type { RegistryStore } from "../../../ports/store/registry.ts";
import type { WebhookStore } from "../../../ports/store/webhooks.ts";
import type { Database, Runner } from "../driver/database.ts";
import { spareTime } from "../driver/driver.ts";
import type { Incarnations } from "../driver/server.ts";

/** The channel of configuration changes. */
export const configChannel = "posthorn_config";

/** Number of announcements that are kept for processes that poll them once per second. */
const keptMax = 1_000;

/**
 * The row is for processes that cannot listen (`ConfigPolling`). Its commit does not wait for the disk or a standby,
 * because a transaction with a notification blocks all other notifying transactions until it ends. After a crash,
 * processes reload everything.
 */
const announceSql = `WITH noted AS (INSERT INTO posthorn.config_changes (payload) VALUES ($2) RETURNING seq),
  forgotten AS (DELETE FROM posthorn.config_changes USING noted WHERE config_changes.seq <= noted.seq - ${keptMax})
  SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`;

/**
 * Announces configuration changes after the commit, so that other processes read the new state. If a second way to
 * announce them is configured, both are used, because each may be unavailable. The periodic reload finds changes whose
 * announcement was lost.
 */
export class ConfigAnnouncer {
  readonly #database: Database;
  readonly #processNumber: () => number;
  readonly #alsoNotify: (change: ConfigChange) => void;

  constructor(database: Database, processNumber: () => number, alsoNotify: (change: ConfigChange) => void) {
    this.#database = database;
    this.#processNumber = processNumber;
    this.#alsoNotify = alsoNotify;
  }

  async announce(change: ConfigChange): Promise<void> {
    this.#alsoNotify(change);
    const payload = `${this.#processNumber()}:${JSON.stringify(change)}`;
    try {
      await this.#database.rows(announceSql, [configChannel, payload]);
    } catch {
      // The change itself is stored. Other processes read it when they reconnect or reload.
    }
  }
}

/** The announced change; null if the announcement is our own or not readable. */
export function configChangeOf(payload: string, processNumber: number): ConfigChange | null {
  const colon = payload.indexOf(":");
  if (colon <= 0 || Number(payload.slice(0, colon)) === processNumber) return null;
  return (tryParseJson(payload.slice(colon + 1)) ?? null) as ConfigChange | null;
}

/** The names of all methods of an object, including inherited ones. */
export function methodsOf(prototype: object): readonly string[] {
  const parent = Object.getPrototypeOf(prototype) as object;
  const own = Object.getOwnPropertyNames(prototype).filter((each) => each !== "constructor");
  return parent === Object.prototype ? own : [...methodsOf(parent), ...own];
}

/**
 * For each method that writes, a function that returns the change that a call wrote, or null if the call wrote nothing.
 */
type Announced<Store> = {
  readonly [Name in keyof Store]?: Store[Name] extends (...given: infer Given) => Promise<infer Result>
    ? (result: Result, ...given: Given) => ConfigChange | null
    : never;
};

/** Wraps a store and announces its writes. The store's methods do not call each other. */
function announcing<Store extends object>(
  store: Store,
  announcer: ConfigAnnouncer,
  changes: Announced<Store>,
): Store {
  const methods = store as unknown as Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>;
  const changeOf = changes as Readonly<
    Record<string, ((...given: unknown[]) => ConfigChange | null) | undefined>
  >;
  const calls = methodsOf(Object.getPrototypeOf(store) as object).map((name) => {
    const call = async (...given: unknown[]): Promise<unknown> => {
      const result = await methods[name]?.(...given);
      const change = changeOf[name]?.(result, ...given) ?? null;
      if (change !== null) await announcer.announce(change);
      return result;
    };
    return [name, call];
  });
  return Object.assign(Object.fromEntries(calls) as Store, store);
}

export function announcedWebhooks(store: WebhookStore, announcer: ConfigAnnouncer): WebhookStore {
  return announcing(store, announcer, {
    save: ({ id }) => ({ kind: "webhooks", webhookIds: [id] }),
    delete: (_, id) => ({ kind: "webhooks", webhookIds: [id] }),
    saveTenantKeys: (_, tenantId) => ({ kind: "tenant_keys", tenantIds: [tenantId] }),
  });
}

export function announcedRegistry(store: RegistryStore, announcer: ConfigAnnouncer): RegistryStore {
  return announcing(store, announcer, {
    saveTenant: () => ({ kind: "tenants" }),
    saveApiKey: () => ({ kind: "api_keys" }),
    deleteApiKey: () => ({ kind: "api_keys" }),
    saveEventType: () => ({ kind: "event_types" }),
    deleteEventType: () => ({ kind: "event_types" }),
  });
}

/**
 * Announces ended sessions and changed settings. A new session needs no announcement, because it is read when its token
 * is first used.
 */
export function announcedPortal(store: PortalStore, announcer: ConfigAnnouncer): PortalStore {
  return announcing(store, announcer, {
    endSessions: (ended) => (ended.length > 0 ? { kind: "portal" } : null),
    saveSettings: () => ({ kind: "portal" }),
    saveLogo: () => ({ kind: "portal" }),
  });
}

/** Announces changes to sources and connections. Requests and responses need no announcement. */
export function announcedGateway(store: GatewayStore, announcer: ConfigAnnouncer): GatewayStore {
  return announcing(store, announcer, {
    saveSource: () => ({ kind: "gateway" }),
    deleteSource: () => ({ kind: "gateway" }),
    saveConnection: () => ({ kind: "gateway" }),
    deleteConnection: () => ({ kind: "gateway" }),
    endRelease: (released) => (released === null ? null : { kind: "gateway" }),
  });
}

export interface ConfigPollingOptions {
  readonly database: Runner;
  readonly incarnations: Pick<Incarnations, "watch">;
  readonly processNumber: () => number;
  readonly clock?: typeof spareTime;
}

/** Delay until a change is noticed. One index lookup costs the server a few microseconds. */
const pauseMs = 1_000;

/**
 * Receives the changes announced by `ConfigAnnouncer` if no connection can listen: reads new announcements once per second.
 *
 * A number is assigned after its change is committed. An announcement may become visible after one with a higher number,
 * or be deleted before it is read. In both cases a number is missing, and all configuration is reloaded.
 */
export class ConfigPolling implements StoreChanges {
  readonly carriesWork = false;
  readonly #options: ConfigPollingOptions;
  readonly #listeners = new Set<(change: StoreChange) => void>();
  readonly #unwatch: () => void;
  readonly #loop: Loop;
  /**
   * Number of the last change that was read. Null at startup and after the database was replaced, which means that
   * everything is reloaded.
   */
  #seq: number | null = null;
  #isStarted = false;

  constructor(options: ConfigPollingOptions) {
    this.#options = options;
    this.#unwatch = options.incarnations.watch(() => (this.#seq = null));
    this.#loop = new Loop({
      clock: options.clock ?? spareTime,
      round: () => this.#look(),
      pauseMs: () => pauseMs,
      // The next round reads the same changes again.
      failed: () => undefined,
    });
  }

  subscribe(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    if (!this.#isStarted) this.#loop.start();
    this.#isStarted = true;
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#unwatch();
    await this.#loop.stop();
  }

  async #look(): Promise<void> {
    const { database, processNumber } = this.#options;
    const since = this.#seq;
    if (since === null) {
      const [row] = await database.rows<[seq: number]>(
        "SELECT coalesce(max(seq), 0) FROM posthorn.config_changes",
      );
      this.#seq = row?.[0] ?? 0;
      this.#notify({ kind: "unknown" });
      return;
    }
    const rows = await database.rows<[seq: number, payload: string]>(
      "SELECT seq, payload FROM posthorn.config_changes WHERE seq > $1 ORDER BY seq",
      [since],
    );
    const last = rows.at(-1)?.[0] ?? since;
    // A restart of the database during the read has reset `#seq`; keep the reset value.
    if (this.#seq === since) this.#seq = last;
    if (last - since > rows.length) this.#notify({ kind: "unknown" });
    for (const [, payload] of rows) {
      const change = configChangeOf(payload, processNumber());
      if (change !== null) this.#notify({ kind: "config", change });
    }
  }

  #notify(change: StoreChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
