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

/** Number of announcements that are kept for processes that read them once a second. */
const keptMax = 1_000;

/**
 * The row is for processes that cannot listen (config-polling.ts). Its commit does not wait for the disk or a standby,
 * because a notification blocks those of all other transactions until its transaction ends. After a crash, processes
 * reload everything.
 */
const announceSql = `WITH noted AS (INSERT INTO posthorn.config_changes (payload) VALUES ($2) RETURNING seq),
  forgotten AS (DELETE FROM posthorn.config_changes USING noted WHERE config_changes.seq <= noted.seq - ${keptMax})
  SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`;

/**
 * Announces configuration changes after the commit, so that other processes read the new state. If there is a second
 * way to announce them, both are used, because each may be unavailable. The periodic reload finds lost changes.
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
      // The change itself is stored. Processes find it when they reconnect or reload.
    }
  }
}

/** The announced change; null when it is our own or not readable. */
export function configChangeOf(payload: string, processNumber: number): ConfigChange | null {
  const colon = payload.indexOf(":");
  if (colon <= 0 || Number(payload.slice(0, colon)) === processNumber) return null;
  return (tryParseJson(payload.slice(colon + 1)) ?? null) as ConfigChange | null;
}

/** A store of webhooks that announces its writes. */
export function announcedWebhooks(store: WebhookStore, announcer: ConfigAnnouncer): WebhookStore {
  const changed = (id: string): Promise<void> => announcer.announce({ kind: "webhooks", webhookIds: [id] });
  return {
    save: async (webhook, beside) => {
      const saved = await store.save(webhook, beside);
      await changed(webhook.id);
      return saved;
    },
    delete: async (id, deletedAt, beside) => {
      await store.delete(id, deletedAt, beside);
      await changed(id);
    },
    saveTenantKeys: async (tenantId, keys) => {
      await store.saveTenantKeys(tenantId, keys);
      await announcer.announce({ kind: "tenant_keys", tenantIds: [tenantId] });
    },
    page: (after, limit) => store.page(after, limit),
    history: (query) => store.history(query),
    some: (ids) => store.some(ids),
    tenantKeys: (tenantId) => store.tenantKeys(tenantId),
    findBySecretDigest: (digest) => store.findBySecretDigest(digest),
    hasSecrets: () => store.hasSecrets(),
    deletedWithWork: () => store.deletedWithWork(),
  };
}

/** A registry that announces its writes. */
export function announcedRegistry(store: RegistryStore, announcer: ConfigAnnouncer): RegistryStore {
  const after = async <Result>(work: Promise<Result>, kind: "tenants" | "api_keys" | "event_types") => {
    const result = await work;
    await announcer.announce({ kind });
    return result;
  };
  return {
    saveTenant: (tenant, audit) => after(store.saveTenant(tenant, audit), "tenants"),
    tenants: () => store.tenants(),
    saveApiKey: (key, audit) => after(store.saveApiKey(key, audit), "api_keys"),
    deleteApiKey: (id, audit) => after(store.deleteApiKey(id, audit), "api_keys"),
    apiKeys: () => store.apiKeys(),
    saveEventType: (eventType, audit) => after(store.saveEventType(eventType, audit), "event_types"),
    deleteEventType: (query, audit) => after(store.deleteEventType(query, audit), "event_types"),
    eventType: (key) => store.eventType(key),
    eventTypePage: (query) => store.eventTypePage(query),
    eventTypeUsage: (tenantId) => store.eventTypeUsage(tenantId),
  };
}

/** Announces ended sessions and settings. A new session needs no announcement: it is read when its token arrives. */
export function announcedPortal(store: PortalStore, announcer: ConfigAnnouncer): PortalStore {
  const changed = (): Promise<void> => announcer.announce({ kind: "portal" });
  return {
    createSession: (session, audit) => store.createSession(session, audit),
    redeem: (exchange) => store.redeem(exchange),
    sessionByToken: (tokenHash) => store.sessionByToken(tokenHash),
    session: (id) => store.session(id),
    sessions: (query) => store.sessions(query),
    endSessions: async (selection, audit) => {
      const ended = await store.endSessions(selection, audit);
      if (ended.length > 0) await changed();
      return ended;
    },
    countSessions: (tenantId, at) => store.countSessions(tenantId, at),
    settings: (tenantId) => store.settings(tenantId),
    saveSettings: async (settings, audit) => {
      await store.saveSettings(settings, audit);
      await changed();
    },
    logo: (place) => store.logo(place),
    saveLogo: async (place, logo, audit) => {
      await store.saveLogo(place, logo, audit);
      await changed();
    },
  };
}

/** Announces sources and connections. Requests and answers need no announcement. */
export function announcedGateway(store: GatewayStore, announcer: ConfigAnnouncer): GatewayStore {
  const changed = async (change: Promise<void>): Promise<void> => {
    await change;
    await announcer.announce({ kind: "gateway" });
  };
  return {
    sources: () => store.sources(),
    saveSource: (source, audit) => changed(store.saveSource(source, audit)),
    deleteSource: (id, audit) => changed(store.deleteSource(id, audit)),
    connections: () => store.connections(),
    saveConnection: (connection, audit) => changed(store.saveConnection(connection, audit)),
    deleteConnection: (id, audit) => changed(store.deleteConnection(id, audit)),
    endRelease: async (id, releasingSince) => {
      const released = await store.endRelease(id, releasingSince);
      if (released !== null) await announcer.announce({ kind: "gateway" });
      return released;
    },
    addRequests: (requests) => store.addRequests(requests),
    updateRequest: (request) => store.updateRequest(request),
    request: (id) => store.request(id),
    held: (query) => store.held(query),
    connectionsWithHeld: () => store.connectionsWithHeld(),
    heldCounts: (query) => store.heldCounts(query),
    settleHeld: (messages) => store.settleHeld(messages),
    recentOutcomes: (query) => store.recentOutcomes(query),
    searchRequests: (search) => store.searchRequests(search),
    bookmark: (mark, audit) => store.bookmark(mark, audit),
    forgetRequests: (step) => store.forgetRequests(step),
    answers: store.answers,
  };
}

export interface ConfigPollingOptions {
  readonly database: Runner;
  readonly incarnations: Pick<Incarnations, "watch">;
  readonly processNumber: () => number;
  readonly clock?: typeof spareTime;
}

/** Delay until a change is seen. One index lookup costs the server some microseconds. */
const pauseMs = 1_000;

/**
 * Receives the changes of ConfigAnnouncer where no connection can listen: reads new announcements once a second.
 *
 * A number is assigned after its change is committed. An announcement may become visible after a younger one, or be
 * deleted before it is read. In both cases a number is missing, and all configuration is reloaded.
 */
export class ConfigPolling implements StoreChanges {
  readonly carriesWork = false;
  readonly #options: ConfigPollingOptions;
  readonly #listeners = new Set<(change: StoreChange) => void>();
  readonly #unwatch: () => void;
  readonly #loop: Loop;
  /** Number of the last change that was read. Null at the start and after the database was replaced: reload everything. */
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
    // A restart of the database during the read has reset the number; keep that.
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
