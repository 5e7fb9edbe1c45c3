import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { SecretUnreadableError } from "../../ports/secret-box.ts";
import type { EndpointReportRow, OwnershipStore, RuntimeOrder } from "../../ports/store/ownership.ts";
import type { StoredWebhook, WebhookStore } from "../../ports/store/webhooks.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { Loop } from "../../ports/timing/loop.ts";
import type { Directory } from "../endpoint/directory.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { foresee } from "./endpoint-orders.ts";
import { applyReport, parseReport } from "./endpoint-reports.ts";

export interface ConfigSyncOptions {
  readonly webhooks: WebhookStore;
  readonly ownership: OwnershipStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly directory: Directory;
  /** Whether other processes can announce what they changed. */
  readonly hears: boolean;
  /** Takes a changed webhook into service, as after a change by this process. */
  readonly apply: (stored: StoredWebhook) => void;
  readonly remove: (webhookId: string) => void;
}

/**
 * Brings webhooks that other processes changed into memory: those named in an announcement, those that somebody looks
 * at, and from time to time all of them, because announcements may be lost (WDS-179).
 *
 * What was changed here meanwhile is newer than what was read before, so it is read again.
 */
export class ConfigSync {
  readonly #options: ConfigSyncOptions;
  readonly #loop: Loop;
  /** Changes that were made here may be lost in the store, which is the truth: so what is newer here does not stay. */
  #isFromScratch = false;

  constructor(options: ConfigSyncOptions) {
    const { clock, random, hears, telemetry } = options;
    this.#options = options;
    const periodMs = hears ? reloadMsMax : deafMs;
    this.#loop = new Loop({
      clock,
      round: () => this.#reload(),
      pauseMs: () => periodMs * (0.5 + random.uniform() / 2),
      failed: (error) =>
        telemetry.log.warn({ err: String(error) }, "webhooks could not be read again; trying again later"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /**
   * Reads these webhooks, and what is known of the endpoints that this process does not own. A webhook that a call in this
   * process changed while it was read is left as that call made it, and read once more; one that nobody knows is removed.
   */
  async load(webhookIds: readonly string[]): Promise<void> {
    const { webhooks, directory } = this.#options;
    let ids = [...new Set(webhookIds)];
    for (let tries = 0; ids.length > 0 && tries < triesMax; tries += 1) {
      // Each change puts another object there, so that the same one afterwards means that nothing came between.
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

  /** Reads how endpoints are doing that this process does not own, and nothing of how their webhooks are configured. */
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
      directory.applyTenantKeys({ tenantId, keys: await webhooks.tenantKeys(tenantId) });
  }

  /**
   * Reads everything, a page at a time. Never rejects. Callers that ask meanwhile share one more round after this one.
   */
  reloadAll(): Promise<void> {
    return this.#loop.run();
  }

  /** After the database was restarted or replaced: what it holds counts, also where it is older. Never rejects. */
  reloadFromScratch(): Promise<void> {
    this.#isFromScratch = true;
    return this.reloadAll();
  }

  /** Loads what differs and what no page holds: a webhook that is known here and stored nowhere was deleted by others. */
  async #reload(): Promise<void> {
    const { webhooks, directory } = this.#options;
    const missing = new Set([...directory.all()].map(({ webhook }) => webhook.id));
    for (let after: string | null = null; !this.#loop.isStopped; ) {
      const page: readonly StoredWebhook[] = await webhooks.page({ after, limit: pageSize });
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
    // A tenant of which nothing was known here may have keys that its webhooks share.
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

  /** One that cannot be read here must not keep the others from being read. */
  #apply(stored: StoredWebhook): void {
    const { apply, telemetry } = this.#options;
    try {
      apply(stored);
    } catch (error) {
      if (!(error instanceof SecretUnreadableError)) throw error;
      telemetry.log.error(
        { webhookId: stored.webhook.id, err: String(error) },
        "the secrets of a webhook cannot be read, so it stays as it was known here, or unknown: another process has a " +
          "master key that this one lacks; name that key in POSTHORN_MASTER_KEY_PREVIOUS and restart",
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
      // The owner follows an order itself, with all that comes of it.
      if (endpoint !== undefined && !endpoint.owned) foresee(endpoint, order);
    }
  }

  #differs({ webhook, secrets }: StoredWebhook): boolean {
    const endpoint = this.#options.directory.get(webhook.id);
    if (endpoint === undefined) return true;
    // Properties that stand in another order only cost one application too many.
    const isSame = JSON.stringify(endpoint.webhook) === JSON.stringify(webhook);
    return !isSame || keysOf(endpoint.secrets) !== keysOf(secrets);
  }
}

/** What is on its way between owners and people. */
interface Reported {
  readonly orders: readonly RuntimeOrder[];
  readonly reports: readonly EndpointReportRow[];
}

/** While this process is about to release it, nobody knows more of it. */
function isOthers({ owned, ownerEpoch }: Endpoint): boolean {
  return !owned && ownerEpoch === null;
}

function keysOf(secrets: StoredWebhook["secrets"]): string {
  return secrets.map(({ kind, digest, expiresAt }) => `${kind} ${digest} ${expiresAt}`).join("\n");
}

/** WDS-179 lets a change take five minutes. It only matters for news that were lost. */
const reloadMsMax = 300_000;
/** Without news this is how late a change is known; more often, reading everything would be what such a process does. */
const deafMs = 30_000;
/** Webhooks of a few kilobytes each: a page is some megabytes, and thousands of webhooks are a few statements. */
const pageSize = 1_000;
/** Somebody who changes a webhook all the time reads it soon enough. */
const triesMax = 3;
