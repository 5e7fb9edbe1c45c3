import { matches } from "../../domain/event-type.ts";
import type { RateLimitConfig } from "../../domain/profile.ts";
import { findProfile } from "../../domain/profiles/index.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { StoredSecret } from "../../ports/store/webhooks.ts";
import { type OAuth2Credentials, OAuth2Tokens } from "../credentials/oauth2-tokens.ts";
import type { EngineOptions } from "../engine-options.ts";
import { buildEndpointConfig, type EndpointConfig } from "./endpoint-config.ts";
import { Endpoint, type EndpointWakes } from "./endpoint.ts";
import type { TenantAllowances } from "./tenant-allowances.ts";
import { TenantQueue } from "./tenant-queue.ts";
import { Sleep, type Wakeups } from "./wakeups.ts";

/**
 * The endpoints that subscribe to an event type, per tenant. Matching a type checks every pattern of the tenant once;
 * the result is cached until a webhook of the tenant changes.
 */
export class Subscriptions {
  readonly #tenants = new Map<string, TenantSubscriptions>();

  add(endpoint: Endpoint): void {
    const tenant = this.#tenant(endpoint.webhook.tenantId);
    tenant.endpoints.set(endpoint.webhook.id, endpoint);
    tenant.matches.clear();
  }

  remove(endpoint: Endpoint): void {
    const tenant = this.#tenant(endpoint.webhook.tenantId);
    tenant.endpoints.delete(endpoint.webhook.id);
    tenant.matches.clear();
  }

  /** In order of creation. Callers must not keep or change the array. */
  of(tenantId: string, type: string): readonly Endpoint[] {
    const tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) return [];
    const known = tenant.matches.get(type);
    if (known !== undefined) return known;
    const found = [...tenant.endpoints.values()].filter((endpoint) =>
      endpoint.webhook.events.some((pattern) => matches(pattern, type)),
    );
    if (tenant.matches.size >= matchesKeptMax) tenant.matches.clear();
    tenant.matches.set(type, found);
    return found;
  }

  /** All endpoints of a tenant. */
  endpoints(tenantId: string): readonly Endpoint[] {
    return [...(this.#tenants.get(tenantId)?.endpoints.values() ?? [])];
  }

  #tenant(tenantId: string): TenantSubscriptions {
    let tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) {
      tenant = { endpoints: new Map(), matches: new Map() };
      this.#tenants.set(tenantId, tenant);
    }
    return tenant;
  }
}

interface TenantSubscriptions {
  readonly endpoints: Map<string, Endpoint>;
  readonly matches: Map<string, readonly Endpoint[]>;
}

/** Maximum number of cached types per tenant, because publishers choose the types. */
const matchesKeptMax = 1_000;

/** Every webhook that is not deleted, as a running endpoint, and the queues of the tenants. */
export class Directory {
  readonly #options: EngineOptions;
  readonly #wakeups: Wakeups;
  readonly #wakes: EndpointWakes;
  /** Null if each worker gets a fixed share of a tenant's limit. */
  readonly #allowances: TenantAllowances | null;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #tenantQueues = new Map<string, TenantQueue>();
  /** Number of webhooks by tenant ID. Tenants without webhooks have no entry. */
  readonly #webhooksOf = new Map<string, number>();
  readonly #tenantKeys = new Map<string, readonly StoredSecret[]>();
  readonly #tenantLimits = new Map<string, RateLimitConfig>();
  #workers = 1;
  readonly #rotations = new Map<string, Sleep>();
  readonly subscriptions = new Subscriptions();

  constructor(
    options: EngineOptions,
    wakeups: Wakeups,
    wakes: EndpointWakes,
    allowances: TenantAllowances | null,
  ) {
    this.#options = options;
    this.#wakeups = wakeups;
    this.#wakes = wakes;
    this.#allowances = allowances;
  }

  get(id: string): Endpoint | undefined {
    return this.#endpoints.get(id);
  }

  all(): IterableIterator<Endpoint> {
    return this.#endpoints.values();
  }

  get size(): number {
    return this.#endpoints.size;
  }

  /** Whether more than one tenant has webhooks. */
  get hasSeveralTenants(): boolean {
    return this.#webhooksOf.size > 1;
  }

  /** Puts a new or changed webhook into service. */
  apply(webhook: Webhook, secrets: readonly StoredSecret[]): Endpoint {
    const config = this.#build(webhook, secrets);
    const existing = this.#endpoints.get(webhook.id);
    if (existing !== undefined) {
      this.subscriptions.remove(existing);
      this.#reconfigure(existing, config);
      this.subscriptions.add(existing);
      return existing;
    }
    const { clock, store } = this.#options;
    const queue = this.tenantQueue(webhook.tenantId);
    // With several processes, an endpoint is not served until this process has acquired it (cluster/).
    const isOwned = store.ownership === undefined;
    const endpoint = new Endpoint(config, queue, clock.now(), this.#wakes, isOwned);
    this.#reconfigure(endpoint, config);
    this.#endpoints.set(webhook.id, endpoint);
    this.#countWebhooks(webhook.tenantId, 1);
    this.subscriptions.add(endpoint);
    return endpoint;
  }

  remove(id: string): Endpoint | undefined {
    const endpoint = this.#endpoints.get(id);
    if (endpoint === undefined) return undefined;
    this.#endpoints.delete(id);
    this.#countWebhooks(endpoint.webhook.tenantId, -1);
    this.subscriptions.remove(endpoint);
    return endpoint;
  }

  applyTenantKeys(tenantId: string, keys: readonly StoredSecret[]): void {
    this.#tenantKeys.set(tenantId, keys);
    for (const endpoint of this.subscriptions.endpoints(tenantId)) {
      const couldSign = endpoint.config.canSign;
      this.#rebuild(endpoint);
      if (!couldSign) this.#wakes.endpointWoke(endpoint);
    }
  }

  applyTenantLimit(tenantId: string, rateLimit: RateLimitConfig | null): void {
    if (rateLimit === null) this.#tenantLimits.delete(tenantId);
    else this.#tenantLimits.set(tenantId, rateLimit);
    const tenantQueue = this.tenantQueue(tenantId);
    tenantQueue.limit(rateLimit === null ? null : partOf(rateLimit, this.#workers));
    this.#allowances?.limit(tenantQueue, rateLimit);
  }

  /**
   * Sets the number of workers that serve webhooks of each tenant. A tenant's limit applies to all of them together, so
   * each worker gets an equal share. Together they never exceed the limit, and use less of it if their work is uneven.
   * With a shared state, the share applies only while the shared state is unavailable.
   */
  shareTenantLimits(workers: number): void {
    if (workers === this.#workers) return;
    this.#workers = workers;
    for (const [tenantId, limit] of this.#tenantLimits)
      this.tenantQueue(tenantId).limit(partOf(limit, workers));
  }

  tenantQueue(tenantId: string): TenantQueue {
    let tenantQueue = this.#tenantQueues.get(tenantId);
    if (tenantQueue === undefined) {
      tenantQueue = new TenantQueue(tenantId, this.#wakes.tenantQueueWoke);
      this.#tenantQueues.set(tenantId, tenantQueue);
    }
    return tenantQueue;
  }

  #countWebhooks(tenantId: string, by: 1 | -1): void {
    const count = (this.#webhooksOf.get(tenantId) ?? 0) + by;
    if (count > 0) this.#webhooksOf.set(tenantId, count);
    else this.#webhooksOf.delete(tenantId);
  }

  #rebuild(endpoint: Endpoint): void {
    this.#reconfigure(endpoint, this.#build(endpoint.webhook, endpoint.secrets));
  }

  /** Access tokens are kept for as long as the OAuth 2.0 client is the same. */
  #reconfigure(endpoint: Endpoint, config: EndpointConfig): void {
    const { oauth2 } = config;
    if (oauth2 === null) endpoint.reconfigure(config, null);
    else if (endpoint.tokens === null || !isSameClient(endpoint.config.oauth2, oauth2))
      endpoint.reconfigure(config, new OAuth2Tokens(this.#options.transport, this.#options.clock, oauth2));
    else endpoint.reconfigure(config);
  }

  #build(webhook: Webhook, secrets: readonly StoredSecret[]): EndpointConfig {
    const profile = findProfile(webhook.profile);
    if (profile === undefined)
      throw new Error(`webhook ${webhook.id} has the unknown profile ${webhook.profile}`);
    const { clock, secretBox, userAgent, requestOrigin } = this.#options;
    const config = buildEndpointConfig({
      webhook,
      profile,
      secrets,
      tenantKeys: this.#tenantKeys.get(webhook.tenantId) ?? [],
      secretBox,
      userAgent,
      requestOrigin,
      now: clock.now(),
    });
    if (!config.canSign) this.#tellMissingKey(webhook);
    if (config.keysExpireAt !== null) this.#rebuildAt(webhook.id, config.keysExpireAt);
    return config;
  }

  #tellMissingKey({ id: webhookId, tenantId }: Webhook): void {
    this.#options.telemetry.log.warn(
      { webhookId, tenantId },
      "a webhook has no signing key, so its deliveries wait; " +
        `replace its secret with POST /v1/webhooks/${webhookId}/secret/rotate, and give its receiver the new one`,
    );
  }

  /** Rebuilds the configuration when the overlap of a rotation ends. From then on only the new key signs (TS16-68). */
  #rebuildAt(webhookId: string, at: number): void {
    let sleeper = this.#rotations.get(webhookId);
    if (sleeper === undefined) {
      sleeper = new Sleep(() => {
        this.#rotations.delete(webhookId);
        const endpoint = this.#endpoints.get(webhookId);
        if (endpoint !== undefined) this.#rebuild(endpoint);
      });
      this.#rotations.set(webhookId, sleeper);
    }
    this.#wakeups.at(sleeper, at);
  }
}

function partOf({ requestsPerMinute, burst }: RateLimitConfig, workers: number): RateLimitConfig {
  return { requestsPerMinute: requestsPerMinute / workers, burst: Math.max(1, Math.floor(burst / workers)) };
}

function isSameClient(before: OAuth2Credentials | null, now: OAuth2Credentials): boolean {
  return JSON.stringify(before) === JSON.stringify(now);
}
