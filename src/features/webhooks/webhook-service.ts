import type { CircuitSnapshot } from "../../domain/circuit-breaker.ts";
import { resolvePolicy } from "../../domain/delivery-policy.ts";
import type { UrlRules } from "../../domain/egress/url-policy.ts";
import type { WebhookHealthState } from "../../domain/endpoint-health.ts";
import { PosthornError } from "../../domain/errors.ts";
import { findProfile } from "../../domain/profiles/index.ts";
import { changedAt, pauseAt, type Webhook } from "../../domain/webhook.ts";
import { healthOf, type LiveWebhook } from "../../engine/endpoint/endpoint-config.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Page, Store } from "../../ports/store.ts";
import type { WaitingCount } from "../../ports/store/history.ts";
import type { StoredHistoryEntry, StoredSecret, WebhookHistoryQuery } from "../../ports/store/webhooks.ts";
import { webhookFields } from "../../resources/webhook.ts";
import { ProblemList, readFields } from "../input.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import { hourOf, instant, type OperationalEvent } from "../notifications/operational-event.ts";
import {
  requireWebhook,
  requireWholeTenant,
  resolveTenant,
  seenWebhooks,
  tenantFilter,
} from "../visibility.ts";
import type {
  CircuitCommand,
  ConfirmVerificationCommand,
  PauseCommand,
  RecoverCommand,
  RecoveryStarted,
  ReportIncidentCommand,
  RotateSecretCommand,
  Scope,
  StatisticsService,
  TestWebhookCommand,
  VerificationConfirmed,
  WebhookBacklogView,
  WebhookFilters,
  WebhookHealthView,
  WebhookInput,
  WebhookListQuery,
  WebhookPublicKeyView,
  WebhookSecretView,
  WebhookView,
} from "../services.ts";
import type { TenantDirectory } from "../tenants/tenant-service.ts";
import { settled } from "../verification/verification.ts";
import type { ChangeWebhook, WebhookVerifications } from "../verification/webhook-verifications.ts";
import { type WebhookIncidents, deletedEvent, eventsOfChange, webhookBacklog } from "./webhook-incidents.ts";
import { changeCircuit, readPause, webhookHealth, withPause } from "./webhook-circuit.ts";
import { noCredentials, type WebhookCredentials } from "./webhook-credentials.ts";
import { blankWebhook, mergeStatus, mergeWebhook } from "./webhook-input.ts";
import { countedHealth, listedWebhooks } from "./webhook-listing.ts";
import { KeptRankings, waitingOfRows } from "./webhook-ranking.ts";
import { sendTestEvent, type WebhookRecovery } from "./webhook-recovery.ts";
import { requireScheme, type WebhookSecrets } from "./webhook-secrets.ts";
import { needsAsking, withProof } from "./webhook-verification-input.ts";

interface WebhookRoomOptions {
  readonly access: Pick<EngineAccess, "webhooks" | "relay">;
  readonly store: Pick<Store, "notifications">;
  readonly clock: Clock;
  readonly tenants: TenantDirectory;
  /** Applies to tenants without their own limit. */
  readonly webhooksPerTenantMax: number;
}

/** Throws if a tenant has reached its limit of webhooks, and publishes an event about that once per hour. */
async function requireRoom(tenantId: string, options: WebhookRoomOptions): Promise<void> {
  const { access, tenants, webhooksPerTenantMax } = options;
  const limit = tenants.get(tenantId)?.webhooksMax ?? webhooksPerTenantMax;
  let count = 0;
  for (const { webhook } of access.webhooks()) if (webhook.tenantId === tenantId) count += 1;
  if (count < limit) return;
  await options.store.notifications.appendEvents([limitReached(tenantId, limit, options.clock.now())]);
  access.relay.stored();
  throw new PosthornError(
    "limit_reached",
    `the limit of ${limit} webhooks for a tenant is reached; there are ${count}`,
  );
}

function limitReached(tenantId: string, limit: number, at: number): OperationalEvent {
  const type = "posthorn.tenant.limit_reached";
  return {
    key: `${type}:${tenantId}:webhooks_max:${hourOf(at)}`,
    type,
    tenantId,
    webhookId: null,
    at,
    data: { tenant_id: tenantId, limit: "webhooks_max", value: limit, occurred_at: instant(at) },
  };
}

interface WebhookServiceOptions {
  readonly access: EngineAccess;
  readonly store: Store;
  readonly clock: Clock;
  readonly secrets: WebhookSecrets;
  readonly credentials: WebhookCredentials;
  readonly verifications: WebhookVerifications;
  readonly incidents: WebhookIncidents;
  readonly recovery: WebhookRecovery;
  readonly tenants: TenantDirectory;
  readonly statistics: Pick<StatisticsService, "failuresOf" | "acceptedSince">;
  readonly urlRules: UrlRules;
  /** Applies to tenants without their own limit. */
  readonly webhooksPerTenantMax: number;
}

interface WebhookPage {
  readonly views: readonly WebhookView[];
  readonly next: string | null;
  /** False if the time limit did not allow sorting all webhooks: those not examined are at the end. */
  readonly isComplete: boolean;
  /** Unix milliseconds: webhooks whose last failure was before this time were not examined. Null if not applicable. */
  readonly searchedTo: number | null;
  /** When the ranking was computed, in Unix milliseconds; null if it is current. */
  readonly rankedAt: number | null;
  /** The result of `waitingOf` that was used for sorting; null if the rows are not sorted by backlog. */
  readonly waiting: ReadonlyMap<string, WaitingCount | null> | null;
}

interface TestStarted {
  readonly eventId: string;
  readonly deliveryId: string;
}

/**
 * Webhooks as visible to their owners. Changes are stored first and then applied immediately, sequentially per webhook.
 * Creations are sequential across all webhooks, so that limits hold.
 */
export class Webhooks {
  readonly #options: WebhookServiceOptions;
  readonly #changes = new KeyedQueue();
  readonly #rankings: KeptRankings;

  constructor(options: WebhookServiceOptions) {
    this.#options = options;
    this.#rankings = new KeptRankings(options.clock);
  }

  async create(
    scope: Scope,
    input: WebhookInput,
  ): Promise<{ readonly view: WebhookView; readonly secret: string | null }> {
    requireWholeTenant(scope);
    const tenantId = resolveTenant(this.#options.tenants, scope, input.tenantId ?? null);
    await requireRoom(tenantId, this.#options);
    const draft = await this.#proven(this.#draft(tenantId, input), null);
    // All creations share one queue. Otherwise, two creations could exceed the tenant's limit or supply the same
    // secret.
    const created = await this.#changes.run(creationLine, () => this.#insert(scope, draft));
    const live = await this.#asked(created, null);
    return { view: this.#view(live), secret: this.#options.secrets.view(live).secret };
  }

  #draft(tenantId: string, given: WebhookInput): Draft {
    const { access, clock, credentials, secrets, urlRules } = this.#options;
    const problems = new ProblemList();
    const now = clock.now();
    const input = readFields(webhookFields, given, problems, "create");
    const base = blankWebhook(access.nextId(), tenantId, now);
    const webhook = mergeWebhook(base, input, { urlRules, now, problems, held: noCredentials });
    const supplied = input.secret === undefined ? null : secrets.readSupplied(input.secret, problems);
    const policy = policyOf(webhook);
    if (supplied !== null && policy !== null) requireScheme(supplied.kind, policy, problems);
    problems.throwIfAny("the webhook");
    const own = supplied === null ? [] : [secrets.seal(webhook.id, supplied)];
    return { webhook, supplied, secrets: credentials.replaced(webhook.id, own, input) };
  }

  async #insert(scope: Scope, { webhook, supplied, secrets }: Draft): Promise<LiveWebhook> {
    await requireRoom(webhook.tenantId, this.#options);
    if (supplied !== null) await this.#options.secrets.refuseReuse(supplied);
    return this.#save(webhook, secrets, scope);
  }

  async get(scope: Scope, id: string): Promise<WebhookView> {
    return this.#view(await this.#fresh(scope, id));
  }

  async list(scope: Scope, query: WebhookListQuery): Promise<WebhookPage> {
    const tenantId = tenantFilter(scope, query.tenantId ?? null);
    const narrowed = { ...query, tenantId, webhookIds: seenWebhooks(scope, null) };
    const { store } = this.#options;
    const { history, deliveries } = store;
    const sources = { ...this.#options, history, deliveries, rankings: this.#rankings };
    const { found, ...page } = await listedWebhooks(narrowed, sources);
    // Another process may own some of these webhooks, so read their states from the store.
    await this.#options.access.refresh(
      found.map(({ webhook }) => webhook.id),
      "states",
    );
    return { views: found.map((live) => this.#view(live)), ...page };
  }

  /** Number of webhooks in each health state, after all filters except those on the health state. */
  healthCounts(scope: Scope, query: WebhookFilters): Promise<Readonly<Record<WebhookHealthState, number>>> {
    const tenantId = tenantFilter(scope, query.tenantId ?? null);
    return countedHealth({ ...query, tenantId, webhookIds: seenWebhooks(scope, null) }, this.#options);
  }

  /** The backlog of each webhook; null if the time limit was reached. Webhooks without a backlog are omitted. */
  waitingOf(webhookIds: readonly string[]): Promise<ReadonlyMap<string, WaitingCount | null>> {
    return waitingOfRows(webhookIds, { history: this.#options.store.history, clock: this.#options.clock });
  }

  async update(
    scope: Scope,
    command: { readonly id: string; readonly input: WebhookInput },
  ): Promise<WebhookView> {
    const { id, input } = command;
    const before = await this.#fresh(scope, id);
    // Runs before any change and outside the queue of changes, because the receiver may take a long time.
    const { webhook: proven } = await this.#proven(this.#merged(before, input), before.webhook);
    let last: Webhook | null = null;
    const live = await this.#changes.run(id, async () => {
      const current = this.#require(scope, id);
      last = current.webhook;
      const { webhook, secrets } = this.#merged(current, input);
      return this.#save(withProof(webhook, proven, last), secrets, scope);
    });
    return this.#view(await this.#asked(live, last));
  }

  #merged(live: LiveWebhook, given: WebhookInput): Pick<Draft, "webhook" | "secrets"> {
    const { clock, credentials, urlRules } = this.#options;
    const { webhook: base, secrets } = live;
    const problems = new ProblemList();
    const input = readFields(webhookFields, given, problems);
    if (given.tenantId !== undefined && given.tenantId !== base.tenantId) {
      problems.add({ field: "tenant_id", message: "cannot be changed" });
    }
    if (given.secret !== undefined) {
      problems.add({ field: "secret", message: "is set on creation; change it with POST …/secret/rotate" });
    }
    const held = credentials.held(base.id, secrets);
    const webhook = mergeWebhook(base, input, { urlRules, now: clock.now(), problems, held });
    problems.throwIfAny("the webhook");
    return { webhook, secrets: credentials.replaced(base.id, secrets, input) };
  }

  async delete(scope: Scope, id: string): Promise<void> {
    await this.#fresh(scope, id);
    await this.#changes.run(id, async () => {
      const { webhook } = this.#require(scope, id);
      const deletedAt = this.#options.clock.now();
      const audit = scope.audit?.take({ id, tenantId: webhook.tenantId });
      const events = [deletedEvent(webhook, deletedAt)];
      await this.#options.store.webhooks.delete(id, deletedAt, { audit, events });
      this.#options.access.relay.stored();
      this.#options.access.removeWebhook(id);
      await this.#options.access.cancelWaiting(id);
    });
  }

  /** Enables the webhook. Skipped deliveries stay skipped until `recover` is called. */
  async enable(scope: Scope, id: string): Promise<WebhookView> {
    const before = (await this.#fresh(scope, id)).webhook.status;
    const view = await this.#setActive(scope, id, true);
    return before === "active" ? this.resume(scope, id) : view;
  }

  /**
   * Stops sending until `until`, or until `resume` is called. Events published during the pause are kept and sent
   * afterwards.
   */
  pause(scope: Scope, command: PauseCommand): Promise<WebhookView> {
    const now = this.#options.clock.now();
    const pause = readPause(command, now);
    return this.#change(scope, command.id, (live) =>
      this.#save(withPause(live.webhook, pause, now), live.secrets, scope),
    );
  }

  /** Ends a pause, whether it was set manually or requested by a response of the receiver. */
  async resume(scope: Scope, id: string): Promise<WebhookView> {
    const { clock } = this.#options;
    await this.#change(scope, id, async (live) =>
      live.webhook.pause === null
        ? live
        : this.#save(withPause(live.webhook, null, clock.now()), live.secrets, scope),
    );
    await this.#options.access.resume(id);
    return this.#view(this.#require(scope, id));
  }

  async disable(scope: Scope, id: string): Promise<WebhookView> {
    return this.#setActive(scope, id, false);
  }

  /**
   * Sends a new verification request to the receiver or the name servers. Rejects with `conflict` if no method is set.
   */
  async verify(scope: Scope, id: string): Promise<WebhookView> {
    await this.#fresh(scope, id);
    return this.#view(await this.#options.verifications.ask(id, this.#alter));
  }

  /**
   * Grants permission through the callback URL of a handshake (CEW-4.1.3-3). No scope is required, because the key
   * authorises the call. Invalid and expired ids and keys all reject with the same `not_found`.
   */
  async confirmVerification(command: ConfirmVerificationCommand): Promise<VerificationConfirmed> {
    await this.#options.access.refresh([command.id]);
    return this.#options.verifications.confirm(command, this.#alter);
  }

  /**
   * Records a receiver's report about messages that claim to come from us (TS16-81): it is logged, and the owner is
   * notified.
   */
  async reportIncident(scope: Scope, command: ReportIncidentCommand): Promise<{ readonly eventId: string }> {
    return this.#options.incidents.report(await this.#fresh(scope, command.id), command);
  }

  async health(scope: Scope, id: string): Promise<WebhookHealthView> {
    const { access, store, clock } = this.#options;
    return webhookHealth(await this.#fresh(scope, id), access, store.history, clock);
  }

  /** The backlog, counted up to 10,000. */
  async backlog(scope: Scope, id: string): Promise<WebhookBacklogView> {
    const { store, statistics, clock } = this.#options;
    return webhookBacklog(await this.#fresh(scope, id), store.history, statistics, clock);
  }

  /** The history of a webhook, or only the revisions of its configuration, newest first. */
  async history(scope: Scope, query: WebhookHistoryQuery): Promise<Page<StoredHistoryEntry>> {
    await this.#fresh(scope, query.webhookId);
    return this.#options.store.webhooks.history(query);
  }

  async circuit(scope: Scope, command: CircuitCommand): Promise<CircuitSnapshot> {
    return changeCircuit(
      await this.#fresh(scope, command.id),
      command,
      this.#options.access,
      this.#options.clock,
    );
  }

  async secret(scope: Scope, id: string): Promise<WebhookSecretView> {
    return this.#options.secrets.view(await this.#fresh(scope, id));
  }

  async rotateSecret(scope: Scope, command: RotateSecretCommand): Promise<WebhookSecretView> {
    const { secrets } = this.#options;
    await this.#fresh(scope, command.id);
    const rotate = () =>
      this.#changes.run(command.id, async () => {
        const live = this.#require(scope, command.id);
        return secrets.view(await this.#save(live.webhook, await secrets.rotate(live, command), scope));
      });
    // Two rotations, or a rotation and a creation, must not take the same supplied secret.
    return (command.secret ?? null) === null ? rotate() : this.#changes.run(creationLine, rotate);
  }

  async publicKey(scope: Scope, id: string): Promise<WebhookPublicKeyView> {
    return this.#options.secrets.publicKey(await this.#fresh(scope, id));
  }

  /** Publishes a `posthorn.test` event to only this webhook, through the whole delivery path. */
  async test(scope: Scope, command: TestWebhookCommand): Promise<TestStarted> {
    return sendTestEvent(await this.#fresh(scope, command.id), {
      ...this.#options,
      eventType: command.eventType,
      data: command.data,
    });
  }

  /**
   * Retries deliveries that became dead letters or were skipped since a given time. If `dryRun` is set, it only counts
   * them.
   */
  async recover(scope: Scope, command: RecoverCommand): Promise<RecoveryStarted> {
    const live = await this.#fresh(scope, command.id);
    return this.#options.recovery.recover(scope, live, command);
  }

  #setActive(scope: Scope, id: string, active: boolean): Promise<WebhookView> {
    return this.#change(scope, id, async (live) => {
      const now = this.#options.clock.now();
      const status = mergeStatus(live.webhook, active, now);
      if (status.status === live.webhook.status) return live;
      const updatedAt = changedAt(live.webhook.updatedAt, now);
      return this.#save(settled({ ...live.webhook, ...status, updatedAt }, now), live.secrets, scope);
    });
  }

  async #change(
    scope: Scope,
    id: string,
    work: (live: LiveWebhook) => Promise<LiveWebhook>,
  ): Promise<WebhookView> {
    await this.#fresh(scope, id);
    return this.#changes.run(id, async () => this.#view(await work(this.#require(scope, id))));
  }

  readonly #alter: ChangeWebhook = (id, change) =>
    this.#changes.run(id, async () => {
      const live = this.#require({ tenantId: null }, id);
      const next = change(live.webhook);
      if (next === null) return live;
      const updatedAt = changedAt(live.webhook.updatedAt, this.#options.clock.now());
      return this.#save({ ...next, updatedAt }, live.secrets, null);
    });

  /** Runs a required echo challenge, which must succeed before anything is saved (WDS-102). */
  async #proven<Given extends Pick<Draft, "webhook" | "secrets">>(
    given: Given,
    before: Webhook | null,
  ): Promise<Given> {
    const { webhook, secrets } = given;
    if (webhook.verification.method !== "challenge" || !needsAsking(before, webhook)) return given;
    return { ...given, webhook: await this.#options.verifications.proven(webhook, secrets) };
  }

  /**
   * Requests permission after a change if required. This happens after saving, because the callback needs a stored
   * webhook.
   */
  async #asked(live: LiveWebhook, before: Webhook | null): Promise<LiveWebhook> {
    if (!needsAsking(before, live.webhook)) return live;
    return this.#options.verifications.ask(live.webhook.id, this.#alter);
  }

  async #save(given: Webhook, secrets: readonly StoredSecret[], scope: Scope | null): Promise<LiveWebhook> {
    const { access, store } = this.#options;
    const policy = requirePolicy(given);
    const completed = await this.#options.secrets.complete(given, policy, secrets);
    const before = access.webhook(given.id) ?? null;
    let events: readonly OperationalEvent[] = [];
    const webhook = await store.webhooks.save(given, {
      ...(completed !== before?.secrets && { secrets: completed }),
      audit: scope?.audit?.take(given),
      events: (saved) => (events = eventsOfChange(before, { webhook: saved, secrets: completed })),
    });
    access.applyWebhook({ webhook, secrets: completed });
    if (events.length > 0) access.relay.stored();
    return this.#require({ tenantId: null }, webhook.id);
  }

  /** The current state, including recent changes by other processes. */
  async #fresh(scope: Scope, id: string): Promise<LiveWebhook> {
    await this.#options.access.refresh([id]);
    return this.#require(scope, id);
  }

  #require(scope: Scope, id: string): LiveWebhook {
    return requireWebhook(this.#options.access, scope, id);
  }

  #view(live: LiveWebhook): WebhookView {
    const { credentials, verifications } = this.#options;
    const held = credentials.held(live.webhook.id, live.secrets);
    return {
      webhook: live.webhook,
      policy: live.policy,
      health: healthOf(live, this.#options.clock.now()),
      pause: pauseAt(live.webhook, this.#options.clock.now()),
      lastSuccessAt: live.lastSuccessAt,
      lastFailedAt: live.health.lastFailedAt,
      hasBearerToken: held.bearerToken,
      credentialHeaderNames: held.credentialHeaderNames,
      clientCertificate: credentials.certificateView(live.webhook.id, live.secrets),
      dnsRecord: verifications.dnsRecord(live.webhook),
      secretHint: this.#options.secrets.hint(live),
      forcedOpenUntil:
        live.circuit.forcedOpenUntil > this.#options.clock.now() ? live.circuit.forcedOpenUntil : null,
    };
  }
}

/** A validated webhook that is not saved yet. */
interface Draft {
  readonly webhook: Webhook;
  readonly supplied: ReturnType<WebhookSecrets["readSupplied"]>;
  readonly secrets: readonly StoredSecret[];
}

/** Queue key for creations, which cannot be the id of a webhook. */
const creationLine = "create";

function policyOf(webhook: Webhook) {
  const profile = findProfile(webhook.profile);
  return profile === undefined ? null : resolvePolicy(webhook, profile);
}

function requirePolicy(webhook: Webhook) {
  const policy = policyOf(webhook);
  if (policy === null)
    throw new PosthornError("internal_error", `the profile of webhook ${webhook.id} is unknown`);
  return policy;
}
