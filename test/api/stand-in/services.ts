/** An engine that keeps everything in maps and delivers nothing: enough for the API to be tested black-box. */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { snapshotCircuit } from "../../../src/core/circuit-breaker.ts";
import { eventFieldProblems, parseTimestamp } from "../../../src/core/event-input.ts";
import { isSystemEventType, matches } from "../../../src/core/event-type.ts";
import {
  DuplicateEventError,
  InvalidRequestError,
  NotFoundError,
  PayloadTooLargeError,
  PosthornError,
} from "../../../src/core/errors.ts";
import type { Priority } from "../../../src/core/delivery.ts";
import type {
  DeliveryView,
  PublishInput,
  PublishReceipt,
  Scope,
  Services,
} from "../../../src/engine/services.ts";
import type { Page, PageRequest } from "../../../src/ports/store.ts";
import type { StoredDelivery, StoredEvent } from "../../../src/ports/store/history.ts";
import type { BatchOperation } from "../../../src/ports/store/operations.ts";
import { createApiKeys, createEventTypes, createTenants } from "./registry.ts";
import { createWebhookShelf } from "./webhooks.ts";
import type { WebhookShelf } from "./webhooks.ts";

export interface StandInOptions {
  readonly adminKey: string;
  readonly payloadBytesMax: number;
  readonly now: () => number;
}

interface World {
  readonly events: Map<string, StoredEvent>;
  readonly keys: Map<string, { readonly receipt: PublishReceipt; readonly content: string }>;
  readonly deliveries: Map<string, StoredDelivery>;
  readonly operations: Map<string, BatchOperation>;
  readonly shelf: WebhookShelf;
  position: number;
}

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
  return {
    events: createEvents(world, { ...options, tenantExists: tenants.exists }),
    webhooks: createWebhooks(world, options),
    deliveries: createDeliveries(world, options),
    deadLetters: createDeadLetters(world, options),
    eventTypes: createEventTypes(options.now),
    tenants,
    apiKeys: createApiKeys({ ...options, tenants }),
  };
}

type EventOptions = StandInOptions & { readonly tenantExists: (id: string) => boolean };

function createEvents(world: World, options: EventOptions): Services["events"] {
  const get = async (scope: Scope, id: string): Promise<StoredEvent> => {
    const event = world.events.get(id);
    if (event === undefined || (scope.tenantId ?? event.tenantId) !== event.tenantId)
      throw new NotFoundError("this event");
    return event;
  };
  const publish = async (scope: Scope, input: PublishInput): Promise<PublishReceipt> =>
    publishOne(world, options, { scope, input });
  return {
    publish,
    publishMany: (scope, inputs) =>
      Promise.all(
        inputs.map(async (input) => {
          try {
            return { kind: "published", receipt: await publish(scope, input) } as const;
          } catch (error) {
            if (error instanceof PosthornError) return { kind: "refused", error } as const;
            throw error;
          }
        }),
      ),
    get,
    list: async (scope, query) => {
      const rows = [...world.events.values()].filter(
        (event) =>
          event.tenantId === (scope.tenantId ?? query.tenantId ?? event.tenantId) &&
          (query.eventType ?? event.eventType) === event.eventType &&
          event.createdAt >= (query.from ?? 0) &&
          event.createdAt < (query.to ?? Infinity),
      );
      return pageOf(rows, query.page);
    },
    deliveries: async (scope, { eventId, page }) => {
      await get(scope, eventId);
      return viewsOf(
        pageOf(
          [...world.deliveries.values()].filter((delivery) => delivery.eventId === eventId),
          page,
        ),
      );
    },
    replay: async (scope, { eventId, webhookIds }) => {
      const event = await get(scope, eventId);
      const chosen = world.shelf
        .all()
        .filter(
          ({ webhook }) => webhook.tenantId === event.tenantId && (webhookIds?.includes(webhook.id) ?? true),
        );
      if (webhookIds !== null && chosen.length < webhookIds.length) throw new NotFoundError("this webhook");
      return chosen.map(({ webhook }) => {
        const delivery = addDelivery(world, {
          event,
          webhookId: webhook.id,
          origin: "replay",
          now: options.now(),
        });
        return { deliveryId: delivery.id, webhookId: webhook.id };
      });
    },
  };
}

function publishOne(
  world: World,
  options: EventOptions,
  call: { readonly scope: Scope; readonly input: PublishInput },
): PublishReceipt {
  const { scope, input } = call;
  const now = options.now();
  const tenantId = input.tenantId ?? scope.tenantId ?? "default";
  const { data, metadata, links, source, timestamp, idempotencyKey, priority } = input;
  refuseBadEvent(options, { ...call, tenantId });
  const bytes = Buffer.byteLength(JSON.stringify(data));
  if (bytes > options.payloadBytesMax)
    throw new PayloadTooLargeError({ bytes, bytesMax: options.payloadBytesMax });
  const body = { type: input.eventType, timestamp: new Date(now).toISOString(), data, metadata, links };
  const content = JSON.stringify({ ...body, timestamp });
  const keyName = `${tenantId}\n${idempotencyKey ?? ""}`;
  const known = idempotencyKey === undefined ? undefined : world.keys.get(keyName);
  if (known !== undefined) {
    if (known.content === content) return { ...known.receipt, duplicate: true };
    throw new DuplicateEventError(known.receipt.id, {
      code: "event_key_reused",
      detail: "The key belongs to another event.",
    });
  }
  const targets = world.shelf
    .all()
    .filter(
      ({ webhook }) =>
        webhook.tenantId === tenantId &&
        webhook.events.some((pattern) => matches({ pattern, type: input.eventType })),
    );
  const event: StoredEvent = {
    id: randomUUID(),
    tenantId,
    eventType: input.eventType,
    timestamp: timestamp === undefined ? now : (parseTimestamp(timestamp) ?? now),
    source: source ?? null,
    idempotencyKey: idempotencyKey ?? null,
    priority: priority ?? "normal",
    createdAt: now,
    sequenceNumber: world.position + 1,
    contentType: "application/json",
    body: Buffer.from(JSON.stringify(body)),
    position: ++world.position,
    deliveries: targets.length,
  };
  world.events.set(event.id, event);
  for (const { webhook } of targets)
    addDelivery(world, { event, webhookId: webhook.id, origin: "publish", now });
  const receipt = {
    id: event.id,
    eventType: event.eventType,
    tenantId,
    timestamp: event.timestamp,
    idempotencyKey: idempotencyKey ?? event.id,
    sequenceNumber: event.sequenceNumber,
    deliveries: targets.length,
    duplicate: false,
  };
  if (idempotencyKey !== undefined) world.keys.set(keyName, { receipt, content });
  return receipt;
}

function refuseBadEvent(
  options: EventOptions,
  call: { readonly scope: Scope; readonly input: PublishInput; readonly tenantId: string },
): void {
  const { input, scope, tenantId } = call;
  const problems = eventFieldProblems(
    {
      metadata: undefined,
      links: undefined,
      source: undefined,
      timestamp: undefined,
      idempotencyKey: undefined,
      priority: undefined,
      ...input,
    },
    options.now(),
  );
  if ((scope.tenantId ?? tenantId) !== tenantId || !options.tenantExists(tenantId)) {
    problems.push({ field: "tenant_id", message: "does not exist" });
  }
  if (isSystemEventType(input.eventType))
    problems.push({ field: "event_type", message: "is the system's own" });
  if (problems.length > 0) throw new InvalidRequestError("The event is not valid.", problems);
}

interface NewDelivery {
  readonly event: StoredEvent;
  readonly webhookId: string;
  readonly origin: StoredDelivery["origin"];
  readonly now: number;
  readonly priority?: Priority;
}

function addDelivery(world: World, { event, webhookId, origin, now, priority }: NewDelivery): StoredDelivery {
  const delivery: StoredDelivery = {
    id: randomUUID(),
    position: ++world.position,
    tenantId: event.tenantId,
    webhookId,
    eventId: event.id,
    eventType: event.eventType,
    priority: priority ?? event.priority,
    lane: { webhookId, ordering: "none", eventType: null },
    origin,
    progress: {
      state: "pending",
      attemptCount: 0,
      createdAt: now,
      firstAttemptAt: null,
      dueAt: now,
      reason: null,
    },
    category: null,
    completedAt: null,
    supersededBy: null,
  };
  world.deliveries.set(delivery.id, delivery);
  return delivery;
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
        .filter(
          ({ webhook }) =>
            webhook.tenantId === (scope.tenantId ?? query.tenantId ?? webhook.tenantId) &&
            (query.active === null || query.active === (webhook.status === "active")) &&
            (query.eventType === null ||
              webhook.events.some((pattern) => matches({ pattern, type: query.eventType ?? "" }))),
        );
      const start =
        (query.after === null ? 0 : all.findIndex(({ webhook }) => webhook.id === query.after) + 1) +
        query.offset;
      const page = all.slice(start, start + query.limit);
      return {
        views: page.map(shelf.view),
        next: start + query.limit < all.length ? (page.at(-1)?.webhook.id ?? null) : null,
      };
    },
    update: async (scope, { id, input }) => {
      const entry = shelf.find(scope, id);
      shelf.update(entry, input);
      return shelf.view(entry);
    },
    delete: async (scope, id) => shelf.remove(shelf.find(scope, id).webhook.id),
    enable: (scope, id) => setActive(scope, { id, active: true }),
    disable: (scope, id) => setActive(scope, { id, active: false }),
    health: async (scope, id) => {
      const entry = shelf.find(scope, id);
      const { webhook, policy } = shelf.view(entry);
      return {
        webhookId: id,
        status: webhook.status,
        statusReason: webhook.statusReason,
        circuit: snapshotCircuit(entry.circuit, policy.circuitBreaker, now()),
        pausedUntil: null,
        pauseReason: null,
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
      };
    },
    circuit: async (scope, { id, action, durationSeconds }) => {
      const entry = shelf.find(scope, id);
      shelf.changeCircuit(entry, { kind: action, durationSeconds });
      return snapshotCircuit(entry.circuit, shelf.view(entry).policy.circuitBreaker, now());
    },
    secret: async (scope, id) => secretView(scope, id),
    rotateSecret: async (scope, command) => {
      const entry = shelf.find(scope, command.id);
      if (entry.previous !== null && !command.force)
        throw new PosthornError("rotation_in_progress", "still running");
      const secret = shelf.newSecret(command.secret);
      const isGraceful = command.mode === "graceful";
      entry.previous = isGraceful
        ? { secret: entry.secret, expiresAt: now() + command.overlapSeconds * 1_000 }
        : null;
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
        dryRun: command.dryRun,
        now: now(),
      });
    },
  };
}

function viewOf(delivery: StoredDelivery): DeliveryView {
  const { dueAt, state } = delivery.progress;
  return { delivery, status: state, waitingFor: "schedule", waitingUntil: dueAt, nextAttemptAt: dueAt };
}

function viewsOf(page: Page<StoredDelivery>): Page<DeliveryView> {
  return { rows: page.rows.map(viewOf), next: page.next };
}

function createDeliveries(world: World, { now }: StandInOptions): Services["deliveries"] {
  const find = (scope: Scope, id: string): StoredDelivery => {
    const delivery = world.deliveries.get(id);
    if (delivery === undefined || (scope.tenantId ?? delivery.tenantId) !== delivery.tenantId)
      throw new NotFoundError("this delivery");
    return delivery;
  };
  return {
    get: async (scope, id) => {
      const view = viewOf(find(scope, id));
      const outcome = {
        outcome: "transient",
        receiverStateUnknown: true,
        category: "timeout",
        statusCode: null,
        responseSample: null,
      } as const;
      const times = { durationMs: 12.5, scheduledAt: now(), executedAt: now(), nextRetryAt: now() + 5_000 };
      return {
        view,
        attempts: [{ id: randomUUID(), number: 1, ...outcome, errorMessage: "no answer", ...times }],
      };
    },
    list: async (scope, query) => {
      world.shelf.find(scope, query.webhookId);
      const rows = [...world.deliveries.values()].filter(
        (delivery) =>
          delivery.webhookId === query.webhookId &&
          (query.status ?? delivery.progress.state) === delivery.progress.state &&
          delivery.progress.createdAt >= (query.from ?? 0) &&
          delivery.progress.createdAt < (query.to ?? Infinity),
      );
      return viewsOf(pageOf(rows, query.page));
    },
    retry: async (scope, { webhookId, deliveryId, priority }) => {
      const delivery = find(scope, deliveryId);
      const event = world.events.get(delivery.eventId);
      if (delivery.webhookId !== webhookId || event === undefined) throw new NotFoundError("this delivery");
      const fresh = addDelivery(world, {
        event,
        webhookId,
        origin: "retry",
        now: now(),
        ...(priority !== null && { priority }),
      });
      world.deliveries.set(deliveryId, { ...delivery, supersededBy: fresh.id });
      return { deliveryId: fresh.id, webhookId };
    },
  };
}

function createDeadLetters(world: World, { now }: StandInOptions): Services["deadLetters"] {
  const find = (scope: Scope, id: string): BatchOperation => {
    const operation = world.operations.get(id);
    if (operation === undefined || (scope.tenantId ?? operation.tenantId) !== operation.tenantId)
      throw new NotFoundError("this operation");
    return operation;
  };
  return {
    list: async (_, query) =>
      viewsOf(
        pageOf(
          [...world.deliveries.values()].filter(({ progress }) => progress.state === "exhausted"),
          query.page,
        ),
      ),
    retryBatch: async (scope, command) =>
      startOperation(world, {
        tenantId: scope.tenantId,
        kind: "dlq_retry",
        dryRun: command.dryRun,
        now: now(),
      }),
    operation: async (scope, id) => find(scope, id),
    cancel: async (scope, id) => {
      const operation: BatchOperation = { ...find(scope, id), status: "cancelled" };
      world.operations.set(id, operation);
      return operation;
    },
  };
}

function startOperation(
  { operations }: Pick<World, "operations">,
  command: {
    readonly tenantId: string | null;
    readonly kind: BatchOperation["kind"];
    readonly dryRun: boolean;
    readonly now: number;
  },
): { readonly operation: BatchOperation | null; readonly count: number } {
  if (command.dryRun) return { operation: null, count: 0 };
  const { tenantId, kind, now } = command;
  const nothing = { tenantId, webhookIds: null, eventTypes: null, categories: null, from: null, to: null };
  const operation: BatchOperation = {
    id: randomUUID(),
    tenantId,
    kind,
    status: "completed",
    selection: { kind: "dead_letters", ...nothing },
    priority: "normal",
    requestsPerSecond: 10,
    total: 0,
    queued: 0,
    failed: 0,
    before: null,
    createdAt: now,
    updatedAt: now,
  };
  operations.set(operation.id, operation);
  return { operation, count: 0 };
}

function pageOf<Row extends { readonly position: number }>(
  rows: readonly Row[],
  page: PageRequest,
): Page<Row> {
  const older = rows
    .toSorted((a, b) => b.position - a.position)
    .filter((row) => row.position < (page.before ?? Infinity));
  const taken = older.slice(page.offset, page.offset + page.limit);
  const isMore = older.length > page.offset + page.limit;
  return { rows: taken, next: isMore ? (taken.at(-1)?.position ?? null) : null };
}
