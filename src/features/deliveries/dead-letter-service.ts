import { NotFoundError } from "../../domain/errors.ts";
import type { Webhook } from "../../domain/webhook.ts";
import { unlimitedBudget } from "../../ports/clock.ts";
import type { Page, PageRequest } from "../../ports/store.ts";
import type { StoredDelivery } from "../../ports/store/history.ts";
import type { BatchOperation, DeadLetterFilter } from "../../ports/store/operations.ts";
import { retryBatchFields } from "../../resources/actions.ts";
import { defaultOf } from "../../resources/field.ts";
import { ProblemList, readFields } from "../input.ts";
import type { BatchOperations } from "../operations/batch-operations.ts";
import type { BulkActions } from "../operations/bulk-actions.ts";
import { filterOf, measureSelection, type Selection } from "../operations/selection-walk.ts";
import { seesOperation, tenantFilter } from "../visibility.ts";
import { searchedPage } from "../searched-pages.ts";
import type {
  BulkStarted,
  ChangeOperationCommand,
  DeliveryView,
  DiscardCommand,
  FeatureContext,
  InactiveWebhook,
  RetryBatchCommand,
  RetryBatchStarted,
  Scope,
} from "../services.ts";
import { type OpenCircuit, openCircuitsOf } from "../webhooks/webhook-circuit.ts";

export type DeadLetterQuery = DeadLetterFilter & { readonly page: PageRequest };
type DeadLetterSelection = Extract<Selection, { readonly kind: "dead_letters" }>;

/** Maximum number of webhooks listed as delaying deliveries. People read the list, and each entry costs a query. */
const webhooksNamedMax = 20;
const webhooksLookedMax = 200;
const webhookCountMax = 10_000;
/** Start times further in the future are refused as likely mistakes. */
const aheadMsMax = 30 * 86_400_000;

/** Dead letters and their bulk retry (WDS-112, 113). */
export class DeadLetters {
  readonly #context: FeatureContext;
  readonly #operations: BatchOperations;
  readonly #bulk: BulkActions;

  constructor(context: FeatureContext, operations: BatchOperations, bulk: BulkActions) {
    this.#context = context;
    this.#operations = operations;
    this.#bulk = bulk;
  }

  /** Every page except the last is full, because programs iterate over the list. */
  async list(scope: Scope, query: DeadLetterQuery): Promise<Page<DeliveryView>> {
    const { page, ...asked } = query;
    const {
      access,
      store: { history },
    } = this.#context;
    const tenantId = tenantFilter(scope, asked.tenantId);
    const filter = filterOf({ kind: "dead_letters", ...asked, tenantId });
    const { limit, offset, before } = page;
    const after = before === null ? null : { position: before, dueAt: null, skip: 0 };
    const found = await searchedPage<StoredDelivery>(
      { limit, offset, after },
      {
        budget: unlimitedBudget,
        takes: null,
        read: (part) =>
          history.searchDeliveries({ filter, order: "newest", budget: unlimitedBudget, ...part }),
        placeOf: ({ position }) => ({ position, dueAt: null }),
        createdAtOf: ({ progress }) => progress.createdAt,
      },
    );
    return { rows: found.rows.map((row) => access.explain(row)), next: found.next?.position ?? null };
  }

  async retryBatch(scope: Scope, command: RetryBatchCommand): Promise<RetryBatchStarted> {
    validate(command, this.#context.clock.now());
    const { webhookIds = null, eventTypes = null, categories = null, from = null, to = null } = command;
    const requestsPerSecond = command.requestsPerSecond ?? defaultOf(retryBatchFields.requestsPerSecond);
    const { priority = defaultOf(retryBatchFields.priority) } = command;
    const { tenantId } = scope;
    const selection: DeadLetterSelection = {
      kind: "dead_letters",
      tenantId,
      webhookIds,
      eventTypes,
      categories,
      from,
      to,
    };
    const { count, before } = await measureSelection(this.#context.store.history, selection);
    const inactive = count === 0 ? [] : await this.#inactive(selection);
    const openCircuits = count === 0 ? [] : await this.#openCircuits(selection);
    if (command.dryRun === true) return { operation: null, count, inactive, openCircuits };
    const operation = await this.#operations.create(scope, {
      tenantId,
      kind: "dlq_retry",
      selection,
      priority,
      requestsPerSecond,
      startsAt: command.startAt ?? null,
      closesCircuits: command.closeCircuits ?? false,
      total: count,
      before,
    });
    return { operation, count, inactive, openCircuits };
  }

  async #inactive(selection: DeadLetterSelection): Promise<readonly InactiveWebhook[]> {
    const statuses = new Map<string, InactiveWebhook["status"]>();
    for (const { webhook } of this.#context.access.webhooks())
      if (webhook.status !== "active" && isOf(selection, webhook)) statuses.set(webhook.id, webhook.status);
    const counts = await this.#countEach(selection, [...statuses.keys()]);
    return [...counts].flatMap(([webhookId, count]) => {
      const status = statuses.get(webhookId);
      return status === undefined ? [] : [{ webhookId, status, count }];
    });
  }

  async #openCircuits(selection: DeadLetterSelection): Promise<readonly OpenCircuit[]> {
    const ids = new Map<string, number>();
    for (const { webhook, circuit } of this.#context.access.webhooks()) {
      const mayBeOpen = circuit.phase !== "closed" || circuit.forcedOpenUntil > this.#context.clock.now();
      if (mayBeOpen && webhook.status === "active" && isOf(selection, webhook)) ids.set(webhook.id, 0);
    }
    const open = await openCircuitsOf(ids, this.#context.access, this.#context.clock);
    const counts = await this.#countEach(
      selection,
      open.map(({ webhookId }) => webhookId),
    );
    return open.flatMap((circuit) => {
      const count = counts.get(circuit.webhookId);
      return count === undefined ? [] : [Object.assign({}, circuit, { count })];
    });
  }

  /** Counts the dead letters in the selection per webhook; webhooks without any are omitted. */
  async #countEach(
    selection: DeadLetterSelection,
    webhookIds: readonly string[],
  ): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    for (const id of webhookIds.slice(0, webhooksLookedMax)) {
      if (counts.size === webhooksNamedMax) break;
      const ofWebhook = filterOf({ ...selection, webhookIds: [id] });
      const count = await this.#context.store.history.countDeliveries(ofWebhook, webhookCountMax);
      if (count > 0) counts.set(id, count);
    }
    return counts;
  }

  /** Removes dead letters permanently; they stay in the history. */
  discardBatch(scope: Scope, command: DiscardCommand): Promise<BulkStarted> {
    return this.#bulk.discard(scope, command);
  }

  /** Bulk operations, newest first. */
  operationList(scope: Scope, page: PageRequest): Promise<Page<BatchOperation>> {
    return this.#operations.list({ tenantId: scope.tenantId, page });
  }

  async operation(scope: Scope, id: string): Promise<BatchOperation> {
    const operation = await this.#operations.get(scope, id);
    if (!seesOperation(scope, operation)) throw new NotFoundError("the batch operation");
    return operation;
  }

  /** Changes the rate of an operation, or pauses or resumes it. */
  change(scope: Scope, command: ChangeOperationCommand): Promise<BatchOperation> {
    return this.#operations.change(scope, command);
  }

  async cancel(scope: Scope, id: string): Promise<BatchOperation> {
    if (scope.portal !== undefined) await this.operation(scope, id);
    return this.#operations.cancel(scope, id);
  }
}

function isOf({ tenantId, webhookIds }: DeadLetterSelection, webhook: Webhook): boolean {
  if (tenantId !== null && tenantId !== webhook.tenantId) return false;
  return webhookIds === null || webhookIds.includes(webhook.id);
}

function validate(command: RetryBatchCommand, now: number): void {
  const problems = new ProblemList();
  const { from = null, to = null, startAt = null } = readFields(retryBatchFields, command, problems);
  if (from !== null && to !== null && to <= from) {
    problems.add({ field: "filter.to", message: "must be after from" });
  }
  if (startAt !== null && startAt - now > aheadMsMax)
    problems.add({ field: "start_at", message: "must be at most 30 days ahead" });
  problems.throwIfAny("the batch retry");
}
