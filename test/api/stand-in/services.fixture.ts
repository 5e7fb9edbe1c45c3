/** An engine that stores everything in maps and delivers nothing. This is enough to test the API as a black box. */
import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { snapshotCircuit } from "../../../src/domain/circuit-breaker.ts";
import { NotFoundError, PosthornError } from "../../../src/domain/errors.ts";
import { matches } from "../../../src/domain/event-type.ts";
import { PortalLooks } from "../../../src/features/portal/portal-looks.ts";
import { PortalSessions } from "../../../src/features/portal/portal-sessions.ts";
import { newProblem } from "../../../src/features/problems/problem.ts";
import type { DeliveryProblemView, FeatureContext, Scope, Services } from "../../../src/features/services.ts";
import { readPause, withPause } from "../../../src/features/webhooks/webhook-circuit.ts";
import type { StoredAuditEntry } from "../../../src/ports/store/audit.ts";
import { ModelPortal } from "../../simulation/model-store/portal.ts";
import { createStandInAlerts } from "./alerts.fixture.ts";
import { createDeadLetters, createDeliveries } from "./deliveries.fixture.ts";
import { createEvents } from "./events.fixture.ts";
import { createStandInNotifications } from "./notifications.fixture.ts";
import { createApiKeys, createEventTypes, createTenants } from "./registry.fixture.ts";
import { createWebhookShelf } from "./webhooks.fixture.ts";
import { type StandInOptions, startOperation, type World } from "./world.fixture.ts";

export function createStandInServices(options: StandInOptions): Services {
  const tenants = createTenants(options.now);
  const shelf = createWebhookShelf({ now: options.now, tenants });
  const world: World = {
    events: new Map(),
    keys: new Map(),
    deliveries: new Map(),
    operations: new Map(),
    shelf,
    position: 0,
  };
  const context = {
    store: { portal: new ModelPortal() },
    tenants: { has: (id: string) => tenants.exists(id) },
    clock: { now: options.now },
    access: { nextId: () => randomUUID(), webhook: () => undefined, refresh: async () => undefined },
    random: { bytes: (count: number) => randomBytes(count) },
  } as unknown as FeatureContext;
  const portalLooks = new PortalLooks(context);
  const portalSessions = new PortalSessions(context, portalLooks);
  return {
    portalSessions,
    portalLooks,
    urlChecks: { check: () => ({ code: null, detail: null, duplicateOf: null }) },
    events: createEvents(world, { ...options, tenantExists: tenants.exists }),
    webhooks: createWebhooks(world, options),
    deliveries: createDeliveries(world, options),
    deadLetters: createDeadLetters(world, options),
    eventTypes: createEventTypes(options.now),
    tenants,
    apiKeys: createApiKeys({ ...options, tenants }),
    // The stand-in never emits anything.
    live: { clients: 0, watch: async () => ({ close: () => undefined }) },
    audit: createAudit(),
    alerts: createStandInAlerts({ now: options.now, tenantExists: tenants.exists }),
    notifications: createStandInNotifications({ now: options.now, tenants }),
    statistics: {
      deliveries: async () => noStatistics(options.now()),
      events: async () => noStatistics(options.now()),
      gauges: async () => ({
        stepSeconds: 60,
        from: options.now(),
        to: options.now(),
        points: [],
        now: { at: options.now(), waiting: { high: 0, normal: 0, low: 0 }, deadLetters: new Map() },
      }),
      ofWebhooks: async () => new Map(),
      failuresOf: async () => new Map(),
      acceptedSince: async () => null,
    },
    problems: createProblems(options.now),
    search: {
      find: async (scope, text) => {
        const event = world.events.get(text);
        if (event === undefined || (scope.tenantId ?? event.tenantId) !== event.tenantId) return [];
        const { id, tenantId, eventType } = event;
        return [{ type: "event", id, tenantId, title: eventType, matched: "id" }];
      },
    },
  };
}

/** The same report for every webhook. */
function createProblems(now: () => number): Services["problems"] {
  const id = "0198c3f2-7a4e-8c11-9d3e-5b0a6f1e2d3c";
  const kind = {
    category: "client_error",
    statusCode: 422,
    errorCode: null,
    answer: "no such order",
  } as const;
  const view = (webhookId: string): DeliveryProblemView => {
    const of = { id, webhookId, tenantId: "default", kind };
    const problem = newProblem(of, { at: now(), outcome: "terminal" });
    return { problem, state: "open", mute: null, title: "x", remedy: "x" };
  };
  const find = async (scope: Scope, asked: string) => {
    if (asked !== id || scope.tenantId !== null) throw new NotFoundError("the problem");
    return view(randomUUID());
  };
  return {
    list: async (scope, { webhookIds }) => {
      const rows = scope.tenantId === null ? [view(webhookIds?.[0] ?? randomUUID())] : [];
      return { rows, next: null, searchedTo: null, isComplete: true };
    },
    get: find,
    change: (scope, command) => find(scope, command.id),
  };
}

function createAudit(): Services["audit"] {
  const rows: StoredAuditEntry[] = [];
  return {
    append: async (entry) => {
      rows.push({ ...entry, position: rows.length });
    },
    list: async (scope, { page, action, target, tenantId: asked, to }) => {
      const of = scope.tenantId ?? asked ?? null;
      const own = rows.filter(
        (row) =>
          (of === null || row.tenantId === of) &&
          (target ?? row.target.id) === row.target.id &&
          `${row.action}.`.startsWith(`${action ?? row.action}.`) &&
          row.at <= (to ?? Infinity),
      );
      const behind = own
        .toReversed()
        .filter(({ position }) => page.after === null || position < page.after.position)
        .slice(page.offset);
      const shown = behind.slice(0, page.limit);
      const last = shown.at(-1);
      const next =
        behind.length > page.limit && last !== undefined
          ? { position: last.position, dueAt: null, skip: 0 }
          : null;
      return { rows: shown, next, searchedTo: null, isComplete: true };
    },
  };
}

function createWebhooks({ shelf, ...world }: World, { now }: StandInOptions): Services["webhooks"] {
  const secretView = (scope: Scope, id: string) => {
    const { secret, previous } = shelf.find(scope, id);
    return { secret, previous };
  };
  const setActive = async (
    scope: Scope,
    { id, active }: { readonly id: string; readonly active: boolean },
  ) => {
    const entry = shelf.find(scope, id);
    shelf.update(entry, { active });
    return shelf.view(entry);
  };
  return {
    create: async (scope, input) => {
      const entry = shelf.create(scope, input);
      return { view: shelf.view(entry), secret: entry.secret };
    },
    get: async (scope, id) => shelf.view(shelf.find(scope, id)),
    list: async (scope, query) => {
      const all = shelf
        .all()
        .toReversed()
        .filter(
          ({ webhook }) =>
            webhook.tenantId === (scope.tenantId ?? query.tenantId ?? webhook.tenantId) &&
            (query.active === null || query.active === (webhook.status === "active")) &&
            (query.eventType === null ||
              webhook.events.some((pattern) => matches(pattern, query.eventType ?? ""))),
        );
      const start =
        (query.after === null ? 0 : all.findIndex(({ webhook }) => webhook.id === query.after) + 1) +
        query.offset;
      const page = all.slice(start, start + query.limit);
      return {
        views: page.map(shelf.view),
        next: start + query.limit < all.length ? (page.at(-1)?.webhook.id ?? null) : null,
        isComplete: true,
        searchedTo: null,
        rankedAt: null,
        waiting: null,
      };
    },
    healthCounts: async () => ({
      healthy: 0,
      failing: 0,
      circuit_open: 0,
      paused: 0,
      disabled: 0,
      suspended: 0,
      unverified: 0,
    }),
    waitingOf: async () => new Map(),
    update: async (scope, { id, input }) => {
      const entry = shelf.find(scope, id);
      shelf.update(entry, input);
      return shelf.view(entry);
    },
    delete: async (scope, id) => shelf.remove(shelf.find(scope, id).webhook.id),
    enable: (scope, id) => setActive(scope, { id, active: true }),
    pause: async (scope, command) => {
      const entry = shelf.find(scope, command.id);
      entry.webhook = withPause(entry.webhook, readPause(command, now()), now());
      return shelf.view(entry);
    },
    resume: async (scope, id) => {
      const entry = shelf.find(scope, id);
      entry.webhook = withPause(entry.webhook, null, now());
      return shelf.view(entry);
    },
    disable: (scope, id) => setActive(scope, { id, active: false }),
    verify: async (scope, id) => {
      const entry = shelf.find(scope, id);
      const { verification } = entry.webhook;
      if (verification.method === "none") throw new PosthornError("conflict", "no verification method");
      return shelf.view(entry);
    },
    confirmVerification: async () => {
      throw new PosthornError("not_found", "this link does not exist");
    },
    reportIncident: async (scope, { id }) => {
      shelf.find(scope, id);
      return { eventId: randomUUID() };
    },
    history: async (scope, { webhookId }) => {
      const { revision, createdAt: at } = shelf.view(shelf.find(scope, webhookId)).webhook;
      const changes = { url: { to: "https://example.com/" }, secret: {} };
      const entry = { at, kind: "created", revision, by: null, reason: null, changes } as const;
      return { rows: [{ ...entry, position: 1 }], next: null };
    },
    backlog: async (scope, id) => {
      shelf.find(scope, id);
      const waiting = { high: 0, normal: 2, low: 0 };
      const pace = { total: 2, perSecond: 0.5, drainMs: 4_000 };
      return { webhookId: id, waiting, isMore: false, oldestCreatedAt: now(), ...pace };
    },
    health: async (scope, id) => {
      const entry = shelf.find(scope, id);
      const { webhook, policy } = shelf.view(entry);
      return {
        webhookId: id,
        health: "healthy",
        status: webhook.status,
        statusReason: webhook.statusReason,
        circuit: snapshotCircuit(entry.circuit, policy.circuitBreaker, now()),
        pausedUntil: null,
        pauseReason: null,
        gates: [],
        inFlight: 0,
        stats: {
          total: 1,
          accepted: 0,
          transient: 1,
          terminal: 0,
          byCategory: { timeout: 1 },
          durationMsP50: 1.5,
          durationMsP95: 2,
          lastAttemptAt: now(),
        },
        statsSince: now() - 86_400_000,
        lastSuccessAt: null,
        disablesAt: null,
      };
    },
    circuit: async (scope, { id, action, durationSeconds = 3_600 }) => {
      const entry = shelf.find(scope, id);
      shelf.changeCircuit(entry, { kind: action, durationSeconds });
      return snapshotCircuit(entry.circuit, shelf.view(entry).policy.circuitBreaker, now());
    },
    secret: async (scope, id) => secretView(scope, id),
    rotateSecret: async (scope, command) => {
      const entry = shelf.find(scope, command.id);
      if (entry.previous !== null && command.force !== true)
        throw new PosthornError("rotation_in_progress", "still running");
      const secret = shelf.newSecret(command.secret ?? null);
      const { mode = "graceful", overlapSeconds = 86_400 } = command;
      entry.previous =
        mode === "graceful" ? { secret: entry.secret, expiresAt: now() + overlapSeconds * 1_000 } : null;
      entry.secret = secret;
      return secretView(scope, command.id);
    },
    publicKey: async (scope, id) => {
      shelf.find(scope, id);
      const jwk = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
      return { publicKey: `whpk_${jwk["x"] ?? ""}`, jwk: jwk as Record<string, string> };
    },
    test: async (scope, { id }) => {
      shelf.find(scope, id);
      return { eventId: randomUUID(), deliveryId: randomUUID() };
    },
    recover: async (scope, command) => {
      const { webhook } = shelf.find(scope, command.id);
      return startOperation(world, {
        tenantId: webhook.tenantId,
        kind: "recover",
        dryRun: command.dryRun === true,
        now: now(),
      });
    },
  };
}

function noStatistics(now: number) {
  return { stepSeconds: 60, from: now, to: now, completeUntil: now, lagSeconds: 0, series: [] };
}
