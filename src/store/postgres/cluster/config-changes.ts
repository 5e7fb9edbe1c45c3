import { tryParseJson } from "../../../domain/json/json-text.ts";
import type { ConfigChange } from "../../../ports/store/changes.ts";
import type { GatewayStore } from "../../../ports/store/gateway.ts";
import type { PortalStore } from "../../../ports/store/portal.ts";
import type { RegistryStore } from "../../../ports/store/registry.ts";
import type { WebhookStore } from "../../../ports/store/webhooks.ts";
import type { Database } from "../driver/database.ts";

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
    delete: async (query, beside) => {
      await store.delete(query, beside);
      await changed(query.id);
    },
    saveTenantKeys: async (command) => {
      await store.saveTenantKeys(command);
      await announcer.announce({ kind: "tenant_keys", tenantIds: [command.tenantId] });
    },
    page: (query) => store.page(query),
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
    countSessions: (query) => store.countSessions(query),
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
