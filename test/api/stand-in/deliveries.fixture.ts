/** Deliveries and dead letters of the engine stand-in. */
import { randomUUID } from "node:crypto";
import { NotFoundError } from "../../../src/domain/errors.ts";
import type {
  BulkStarted,
  DeliveryListQuery,
  DeliveryPage,
  Scope,
  Services,
} from "../../../src/features/services.ts";
import type { StoredDelivery } from "../../../src/ports/store/history.ts";
import type { BatchOperation } from "../../../src/ports/store/operations.ts";
import {
  addDelivery,
  pageOf,
  type StandInOptions,
  startOperation,
  viewOf,
  viewsOf,
  type World,
} from "./world.fixture.ts";

export function createDeliveries(world: World, { now }: StandInOptions): Services["deliveries"] {
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
      const notes = {
        retryAfter: { value: "5", effect: "lower_bound" },
        waits: [{ reason: "circuit_open", from: now() - 5_000, until: now() }],
      } as const;
      const times = { durationMs: 12.5, scheduledAt: now(), executedAt: now(), nextRetryAt: now() + 5_000 };
      return {
        view,
        attempts: [{ id: randomUUID(), number: 1, ...outcome, errorMessage: "no answer", ...times, notes }],
      };
    },
    request: async (scope, { deliveryId, number }) => {
      find(scope, deliveryId);
      if (number !== 1) throw new NotFoundError("this attempt");
      const headers = ["Webhook-Signature", "***"];
      const differences = [{ parts: ["signature"], why: "secret_rotated" }] as const;
      return { method: "POST", url: "https://a.test/", headers, body: new Uint8Array([0, 255]), differences };
    },
    list: async (scope, query) => found(world, { ...query, tenantId: scope.tenantId }),
    retryBatch: async (scope, command) => bulkStarted(world, { scope, command, kind: "retry", now: now() }),
    cancelBatch: async (scope, command) => bulkStarted(world, { scope, command, kind: "cancel", now: now() }),
    listOfWebhook: async (scope, { webhookId, ...query }) => {
      world.shelf.find(scope, webhookId);
      return found(world, { ...query, webhookIds: [webhookId] });
    },
    retry: async (scope, { webhookId, deliveryId, priority }) => {
      const delivery = find(scope, deliveryId);
      const event = world.events.get(delivery.eventId);
      if (delivery.webhookId !== webhookId || event === undefined) throw new NotFoundError("this delivery");
      const isDone = delivery.progress.state === "success";
      const fresh = isDone ? addDelivery(world, { event, webhookId, origin: "retry", now: now() }) : delivery;
      const sent: StoredDelivery = {
        ...fresh,
        replayOf: isDone ? deliveryId : null,
        priority: priority ?? delivery.priority,
      };
      world.deliveries.set(sent.id, sent);
      const { replayOf } = sent;
      return {
        deliveryId: sent.id,
        webhookId,
        replayOf,
        status: "pending",
        waitingFor: null,
        waitingUntil: null,
      };
    },
  };
}

function bulkStarted(
  world: World,
  started: {
    readonly scope: Scope;
    readonly command: { readonly dryRun?: boolean };
    readonly kind: BatchOperation["kind"];
    readonly now: number;
  },
): BulkStarted {
  const { tenantId } = started.scope;
  const dryRun = started.command.dryRun === true;
  return {
    ...startOperation(world, { tenantId, kind: started.kind, dryRun, now: started.now }),
    isExact: true,
    samples: [],
    excluded: {},
    requestsPerSecond: 10,
    durationMs: 0,
    selection: { kind: "ids", tenantId, ids: [] },
  };
}

/** Supports only the filters that the API suites use. */
export function found(world: World, query: DeliveryListQuery): DeliveryPage {
  const { page, order } = query;
  const rows = [...world.deliveries.values()].filter(
    (delivery) =>
      (query.tenantId ?? delivery.tenantId) === delivery.tenantId &&
      (query.webhookIds?.includes(delivery.webhookId) ?? true) &&
      (query.eventId ?? delivery.eventId) === delivery.eventId &&
      (query.statuses?.includes(delivery.progress.state) ?? true) &&
      delivery.progress.createdAt >= (query.from ?? 0) &&
      delivery.progress.createdAt <= (query.to ?? Infinity),
  );
  const isOldest = order === "oldest";
  const behind = rows
    .toSorted((a, b) => (isOldest ? a.position - b.position : b.position - a.position))
    .filter(({ position }) => page.after === null || position < page.after.position !== isOldest)
    .slice(page.offset);
  const last = behind[page.limit - 1];
  const next =
    behind.length <= page.limit || last === undefined
      ? null
      : { position: last.position, dueAt: null, skip: 0 };
  const searchedTo = next === null ? null : (last?.progress.createdAt ?? null);
  const shown = behind
    .slice(0, page.limit)
    .map((delivery) => Object.assign(viewOf(delivery), { webhook: null, webhookHealth: null }));
  return { rows: shown, next, searchedTo, isComplete: true };
}

export function createDeadLetters(world: World, { now }: StandInOptions): Services["deadLetters"] {
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
    retryBatch: async (scope, command) => ({
      ...startOperation(world, {
        tenantId: scope.tenantId,
        kind: "dlq_retry",
        dryRun: command.dryRun === true,
        now: now(),
      }),
      inactive: [],
    }),
    discardBatch: async (scope, command) =>
      bulkStarted(world, { scope, command, kind: "discard", now: now() }),
    change: async (scope, { id, status }) => {
      const operation: BatchOperation = { ...find(scope, id), status: status ?? "running" };
      world.operations.set(id, operation);
      return operation;
    },
    operationList: async (scope) => {
      const rows = [...world.operations.values()].filter(
        ({ tenantId }) => (scope.tenantId ?? tenantId) === tenantId,
      );
      return { rows, next: null };
    },
    operation: async (scope, id) => find(scope, id),
    cancel: async (scope, id) => {
      const operation: BatchOperation = { ...find(scope, id), status: "cancelled" };
      world.operations.set(id, operation);
      return operation;
    },
  };
}
