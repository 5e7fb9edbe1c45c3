import type { Priority } from "../../domain/delivery.ts";
import type { Exclusion, ExclusionCounts, OperationSelection } from "../../ports/store/operations.ts";
import { everyDelivery } from "../../ports/store/search.ts";
import { defaultOf, type Fields } from "../../resources/field.ts";
import { cancelDeliveriesFields, discardFields, retryDeliveriesFields } from "../../resources/operation.ts";
import { selectionOf } from "../deliveries/delivery-listing.ts";
import { ProblemList, readFields } from "../input.ts";
import { tenantFilter } from "../visibility.ts";
import type {
  BulkDeliveriesCommand,
  BulkStarted,
  DeliveryFilters,
  DiscardCommand,
  FeatureContext,
  ListedDelivery,
  Scope,
} from "../services.ts";
import { openCircuitsOf } from "../webhooks/webhook-circuit.ts";
import type { BatchOperations, NewOperation } from "./batch-operations.ts";
import { actionOf, positionAbove, type SelectionWalk, type Walked } from "./selection-walk.ts";

const samplesMax = 5;
/** Budget of a preview, because a person waits for it and deliveries run concurrently. */
const previewBounds = { rowsMax: 100_000, durationMsMax: 1_000 };

interface Preview {
  readonly count: number;
  readonly isExact: boolean;
  readonly samples: readonly ListedDelivery[];
  readonly excluded: ExclusionCounts;
  readonly byWebhook: ReadonlyMap<string, number>;
}

type Order = Pick<
  NewOperation,
  "kind" | "selection" | "priority" | "requestsPerSecond" | "before" | "closesCircuits"
>;

/** Retries, cancels and discards many deliveries: first previews the selection, then starts an operation. */
export class BulkActions {
  readonly #context: FeatureContext;
  readonly #walk: SelectionWalk;
  readonly #operations: BatchOperations;

  constructor(context: FeatureContext, walk: SelectionWalk, operations: BatchOperations) {
    this.#context = context;
    this.#walk = walk;
    this.#operations = operations;
  }

  async retry(scope: Scope, command: BulkDeliveriesCommand): Promise<BulkStarted> {
    validate(retryDeliveriesFields, command);
    const requestsPerSecond = command.requestsPerSecond ?? defaultOf(retryDeliveriesFields.requestsPerSecond);
    const order = await this.#ofDeliveries(scope, command);
    const priority: Priority | null = command.priority ?? null;
    const closesCircuits = command.closeCircuits ?? false;
    return this.#start(
      scope,
      { ...order, kind: "retry", priority, requestsPerSecond, closesCircuits },
      command.dryRun,
    );
  }

  async cancel(scope: Scope, command: Omit<BulkDeliveriesCommand, "priority">): Promise<BulkStarted> {
    validate(cancelDeliveriesFields, command);
    const requestsPerSecond =
      command.requestsPerSecond ?? defaultOf(cancelDeliveriesFields.requestsPerSecond);
    const order = await this.#ofDeliveries(scope, command);
    return this.#start(
      scope,
      { ...order, kind: "cancel", priority: null, requestsPerSecond },
      command.dryRun,
    );
  }

  async discard(scope: Scope, command: DiscardCommand): Promise<BulkStarted> {
    validate(discardFields, command);
    const requestsPerSecond = command.requestsPerSecond ?? defaultOf(discardFields.requestsPerSecond);
    const order = await this.#ofDeadLetters(scope, command);
    return this.#start(
      scope,
      { ...order, kind: "discard", priority: null, requestsPerSecond },
      command.dryRun,
    );
  }

  /** Excludes deliveries created later, even if a clock is set back. */
  async #ofDeliveries(
    scope: Scope,
    { ids, filter }: Pick<BulkDeliveriesCommand, "ids" | "filter">,
  ): Promise<Pick<Order, "selection" | "before">> {
    if (ids !== undefined && ids !== null) return namedOnes(scope, ids);
    const asked: DeliveryFilters = filter ?? {};
    const tenantId = tenantFilter(scope, asked.tenantId ?? null);
    const now = this.#context.clock.now();
    const to = Math.min(asked.to ?? now, now);
    const selection = selectionOf(tenantId, { ...asked, to });
    return { selection, before: await this.#positionAbove(tenantId) };
  }

  async #ofDeadLetters(
    scope: Scope,
    { ids, filter }: Pick<DiscardCommand, "ids" | "filter">,
  ): Promise<Pick<Order, "selection" | "before">> {
    if (ids !== undefined && ids !== null) return namedOnes(scope, ids);
    const { webhookIds = null, eventTypes = null, categories = null, from = null } = filter ?? {};
    const tenantId = tenantFilter(scope, filter?.tenantId ?? null);
    const now = this.#context.clock.now();
    const to = Math.min(filter?.to ?? now, now);
    const selection = {
      kind: "dead_letters",
      tenantId,
      webhookIds,
      eventTypes,
      categories,
      from,
      to,
    } as const;
    return { selection, before: await this.#positionAbove(tenantId) };
  }

  #positionAbove(tenantId: string | null): Promise<number> {
    return positionAbove(this.#context.store.history, { ...everyDelivery, tenantId });
  }

  async #start(scope: Scope, order: Order, dryRun = false): Promise<BulkStarted> {
    const { selection, requestsPerSecond } = order;
    const { count, isExact, samples, excluded, byWebhook } = await this.#preview({
      ...order,
      id: null,
      cursor: null,
    });
    const openCircuits =
      actionOf(order.kind) === "retry"
        ? await openCircuitsOf(byWebhook, this.#context.access, this.#context.clock)
        : [];
    const operation = dryRun
      ? null
      : await this.#operations.create(scope, {
          ...order,
          tenantId: tenantOf(selection),
          total: count + sum(excluded),
          isTotalExact: isExact,
        });
    const durationMs = isExact ? Math.ceil((count * 1_000) / requestsPerSecond) : null;
    return {
      operation,
      count,
      isExact,
      samples,
      excluded,
      openCircuits,
      selection,
      requestsPerSecond,
      durationMs,
    };
  }

  async #preview(walked: Walked): Promise<Preview> {
    const { clock } = this.#context;
    const samples: ListedDelivery[] = [];
    const excluded: Partial<Record<Exclusion, number>> = {};
    const byWebhook = new Map<string, number>();
    let [count, looked] = [0, 0];
    let isExact = true;
    const endsAtMs = clock.monotonicMs() + previewBounds.durationMsMax;
    const hasEnough = (): boolean => {
      if (looked >= previewBounds.rowsMax || clock.monotonicMs() >= endsAtMs) isExact = false;
      return !isExact;
    };
    for await (const { items } of this.#walk.portions(walked, hasEnough)) {
      for (const { row, exclusion } of items) {
        if (exclusion !== null) excluded[exclusion] = (excluded[exclusion] ?? 0) + 1;
        else {
          count += 1;
          if (row === null) continue;
          const { webhookId } = row.delivery;
          byWebhook.set(webhookId, (byWebhook.get(webhookId) ?? 0) + 1);
          if (samples.length < samplesMax) samples.push(row);
        }
      }
      looked += items.length;
    }
    return { count, isExact, samples, excluded, byWebhook };
  }
}

function namedOnes({ tenantId }: Scope, ids: readonly string[]): Pick<Order, "selection" | "before"> {
  return { selection: { kind: "ids", tenantId, ids: [...new Set(ids)] }, before: null };
}

function tenantOf(selection: OperationSelection): string | null {
  return selection.kind === "search" ? selection.filter.tenantId : selection.tenantId;
}

function sum(counts: ExclusionCounts): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

function validate(
  fields: Fields,
  command: {
    readonly ids?: unknown;
    readonly filter?: { readonly from?: number | null; readonly to?: number | null } | null;
  },
): void {
  const problems = new ProblemList();
  readFields(fields, command, problems);
  const { ids, filter } = command;
  if ((ids === undefined) === (filter === undefined))
    problems.add({ field: "ids", message: "is required without a filter" });
  const { from, to } = filter ?? {};
  if (typeof from === "number" && typeof to === "number" && to < from)
    problems.add({ field: "filter.to", message: "must be after from" });
  problems.throwIfAny("the bulk action");
}
