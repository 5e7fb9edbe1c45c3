import { type Clock, Loop } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { SecretUnreadableError } from "../../ports/secret-box.ts";
import type { EndpointReportRow, OwnershipStore, RuntimeOrder } from "../../ports/store/ownership.ts";
import type { StoredWebhook, WebhookStore } from "../../ports/store/webhooks.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { foresee } from "./endpoint-notes.ts";
import { applyReport, parseReport } from "./endpoint-reports.ts";

export interface ConfigSyncOptions {
  readonly webhooks: WebhookStore;
  readonly ownership: OwnershipStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly directory: Directory;
  /** Applies a webhook that another process changed, in the same way as a change made by this process. */
  readonly apply: (stored: StoredWebhook) => void;
  readonly remove: (webhookId: string) => void;
}

/**
 * Loads webhooks that other processes changed: those named in an announcement, those requested by API calls, and
 * periodically all of them, because announcements may be lost (WDS-179).
 *
 * If this process changed a webhook during the read, the read is outdated and repeated.
 */
export class ConfigSync {
  readonly #options: ConfigSyncOptions;
  readonly #loop: Loop;
  /**
   * Whether the store's versions replace newer ones in memory. Set after the store may have lost changes that this
   * process made.
   */
  #isFromScratch = false;

  constructor(options: ConfigSyncOptions) {
    const { clock, random, telemetry } = options;
    this.#options = options;
    this.#loop = new Loop({
      clock,
      round: () => this.#reload(),
      pauseMs: () => reloadMsMax * (0.5 + random.uniform() / 2),
      failed: (error) =>
        telemetry.log.warn({ err: String(error) }, "reloading webhooks failed; retrying later"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /**
   * Loads these webhooks, and the reported state of endpoints that this process does not own. A webhook that this
   * process changed during the read is left unchanged and read again. A webhook that is not found is removed.
   */
  async load(webhookIds: readonly string[]): Promise<void> {
    const { webhooks, directory } = this.#options;
    let ids = [...new Set(webhookIds)];
    for (let tries = 0; ids.length > 0 && tries < triesMax; tries += 1) {
      // Each change replaces the object, so if the object is still the same, nothing has changed.
      const before = new Map(ids.map((id) => [id, directory.get(id)?.config]));
      const found = await webhooks.some(ids);
      const reported = await this.#reported(ids);
      const changed = ids.filter((id) => directory.get(id)?.config !== before.get(id));
      const current = found.filter(({ webhook }) => !changed.includes(webhook.id));
      await this.#applyAll(current);
      this.#applyReported(ids, reported);
      const known = new Set([...found.map(({ webhook }) => webhook.id), ...changed]);
      for (const id of ids) if (!known.has(id)) this.#options.remove(id);
      ids = changed;
    }
  }

  /** Loads the state of endpoints that this process does not own, without their configuration. */
  async loadStates(webhookIds: readonly string[]): Promise<void> {
    const { ownership, directory } = this.#options;
    const othersOf = (id: string): Endpoint | null => {
      const endpoint = directory.get(id);
      return endpoint !== undefined && isOthers(endpoint) ? endpoint : null;
    };
    const ids = webhookIds.filter((id) => othersOf(id) !== null);
    if (ids.length === 0) return;
    const states = await ownership.states(ids);
    const reported = await this.#reported(ids);
    for (const state of states) othersOf(state.webhookId)?.restore(state);
    this.#applyReported(ids, reported);
  }

  async loadTenantKeys(tenantIds: readonly string[]): Promise<void> {
    const { webhooks, directory } = this.#options;
    for (const tenantId of new Set(tenantIds))
      directory.applyTenantKeys(tenantId, await webhooks.tenantKeys(tenantId));
  }

  /** Loads everything, one page at a time. Never rejects. Calls that arrive during a round share one further round. */
  reloadAll(): Promise<void> {
    return this.#loop.run();
  }

  /**
   * Reloads everything after the database was restarted or replaced. The database's content takes precedence, even if
   * it is older. Never rejects.
   */
  reloadFromScratch(): Promise<void> {
    this.#isFromScratch = true;
    return this.reloadAll();
  }

  /** Loads changed webhooks, and removes those that are not on any page because other processes deleted them. */
  async #reload(): Promise<void> {
    const { webhooks, directory } = this.#options;
    const missing = new Set([...directory.all()].map(({ webhook }) => webhook.id));
    for (let after: string | null = null; !this.#loop.isStopped; ) {
      const page: readonly StoredWebhook[] = await webhooks.page(after, pageSize);
      const differing = page.filter((stored) => this.#differs(stored)).map(({ webhook }) => webhook.id);
      if (differing.length > 0) await this.load(differing);
      for (const { webhook } of page) missing.delete(webhook.id);
      after = page.at(-1)?.webhook.id ?? null;
      if (page.length < pageSize) break;
    }
    await this.load([...missing]);
    this.#isFromScratch = false;
    await this.loadTenantKeys([...directory.all()].map(({ webhook }) => webhook.tenantId));
  }

  async #applyAll(stored: readonly StoredWebhook[]): Promise<void> {
    const { directory } = this.#options;
    const added = stored.filter(({ webhook }) => directory.get(webhook.id) === undefined);
    // The tenant of a new webhook may have shared keys that this process has not loaded yet.
    if (added.length > 0) await this.loadTenantKeys(added.map(({ webhook }) => webhook.tenantId));
    for (const each of stored) {
      const existing = directory.get(each.webhook.id);
      const isOlder =
        !this.#isFromScratch && existing !== undefined && existing.webhook.updatedAt > each.webhook.updatedAt;
      if (!isOlder && this.#differs(each)) this.#apply(each);
      const endpoint = directory.get(each.webhook.id);
      if (endpoint !== undefined && isOthers(endpoint) && each.runtime !== null)
        endpoint.restore(each.runtime);
    }
  }

  /** An unreadable webhook must not prevent the others from loading. */
  #apply(stored: StoredWebhook): void {
    const { apply, telemetry } = this.#options;
    try {
      apply(stored);
    } catch (error) {
      if (!(error instanceof SecretUnreadableError)) throw error;
      telemetry.log.error(
        { webhookId: stored.webhook.id, err: String(error) },
        "the secrets of a webhook cannot be decrypted, so its change is ignored: another process has a " +
          "master key that this one lacks; add that key to POSTHORN_MASTER_KEY_PREVIOUS and restart",
      );
    }
  }

  async #reported(webhookIds: readonly string[]): Promise<Reported> {
    const { ownership } = this.#options;
    const [orders, reports] = await Promise.all([
      ownership.orders({ webhookIds }),
      ownership.reports(webhookIds),
    ]);
    return { orders, reports };
  }

  #applyReported(ids: readonly string[], { orders, reports }: Reported): void {
    const { directory, clock } = this.#options;
    const reported = new Map(reports.map(({ webhookId, document }) => [webhookId, parseReport(document)]));
    for (const id of ids) {
      const endpoint = directory.get(id);
      if (endpoint !== undefined && isOthers(endpoint))
        applyReport(endpoint, reported.get(id) ?? null, clock.now());
    }
    for (const order of orders) {
      const endpoint = directory.get(order.webhookId);
      // The owner executes an order itself, with all its effects.
      if (endpoint !== undefined && !endpoint.owned) foresee(endpoint, order);
    }
  }

  #differs({ webhook, secrets }: StoredWebhook): boolean {
    const endpoint = this.#options.directory.get(webhook.id);
    if (endpoint === undefined) return true;
    // A different property order only causes a redundant update.
    const isSame = JSON.stringify(endpoint.webhook) === JSON.stringify(webhook);
    return !isSame || keysOf(endpoint.secrets) !== keysOf(secrets);
  }
}

/** Exchanges orders and reports between owners and the processes that receive API calls. */
interface Reported {
  readonly orders: readonly RuntimeOrder[];
  readonly reports: readonly EndpointReportRow[];
}

/** An endpoint that this process is releasing still has its most recent state here. */
function isOthers({ owned, ownerEpoch }: Endpoint): boolean {
  return !owned && ownerEpoch === null;
}

function keysOf(secrets: StoredWebhook["secrets"]): string {
  return secrets.map(({ kind, digest, expiresAt }) => `${kind} ${digest} ${expiresAt}`).join("\n");
}

/** WDS-179 allows five minutes for a change to take effect. This interval matters only if announcements were lost. */
const reloadMsMax = 300_000;
/**
 * A webhook takes a few kilobytes, so a page takes a few megabytes, and thousands of webhooks take a few statements.
 */
const pageSize = 1_000;
/** Stops retrying if a webhook changes constantly; its changes are loaded soon anyway. */
const triesMax = 3;
