import {
  type AttemptRecord,
  deliveryStates,
  type DeliveryState,
  type Priority,
} from "../../core/delivery.ts";
import { NotFoundError, PosthornError } from "../../core/errors.ts";
import { deliveryRetryFields } from "../../core/fields/actions.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HistoryStore, StoredDelivery } from "../../ports/store/history.ts";
import type { Page } from "../../ports/store.ts";
import type { EngineAccess } from "../engine-access.ts";
import type {
  DeliveryHandle,
  DeliveryListQuery,
  DeliveryService,
  DeliveryStatus,
  DeliveryView,
  Scope,
} from "../services.ts";
import { ProblemList } from "./problem-list.ts";
import { readFields } from "./read-fields.ts";
import { newRedelivery, requireAccepted } from "./redelivery.ts";
import { requireWebhook } from "./scope.ts";

export interface DeliveryServiceOptions {
  readonly access: Pick<EngineAccess, "webhook" | "explain" | "refresh" | "requeue" | "placeOf" | "nextId">;
  readonly history: HistoryStore;
  readonly clock: Clock;
}

/** A listing by a status that is derived may have to look through many rows; it stops after so many pages. */
const pagesReadMax = 20;

/** Deliveries as their owners see them, and retries by hand. */
export class Deliveries implements DeliveryService {
  readonly #options: DeliveryServiceOptions;

  constructor(options: DeliveryServiceOptions) {
    this.#options = options;
  }

  async get(
    scope: Scope,
    id: string,
  ): Promise<{ readonly view: DeliveryView; readonly attempts: readonly AttemptRecord[] }> {
    const view = await this.#explain(scope, id);
    return { view, attempts: await this.#options.history.listAttempts(id) };
  }

  async list(scope: Scope, query: DeliveryListQuery): Promise<Page<DeliveryView>> {
    await this.#options.access.refresh([query.webhookId]);
    const { webhook } = requireWebhook(this.#options.access, { scope, id: query.webhookId });
    const states = statesOf(query.status);
    const read = (page: DeliveryListQuery["page"]) =>
      this.#options.history.listDeliveries({
        tenantId: webhook.tenantId,
        webhookId: webhook.id,
        eventId: null,
        states,
        from: query.from,
        to: query.to,
        page,
      });
    if (query.status === null || !isDerived(query.status)) return this.#explainAll(await read(query.page));
    return this.#listDerived({ ...query, status: query.status }, read);
  }

  async retry(scope: Scope, command: Parameters<DeliveryService["retry"]>[1]): Promise<DeliveryHandle> {
    const { access, clock } = this.#options;
    await access.refresh([command.webhookId]);
    const { webhook } = requireWebhook(access, { scope, id: command.webhookId });
    const delivery = await this.#require(scope, command.deliveryId);
    if (delivery.webhookId !== webhook.id) throw new NotFoundError("the delivery");
    const problems = new ProblemList();
    readFields(deliveryRetryFields, command, { problems });
    problems.throwIfAny("the retry");
    if (delivery.supersededBy !== null) {
      throw new PosthornError(
        "conflict",
        `the delivery was retried before; delivery ${delivery.supersededBy} took over`,
      );
    }
    const priority: Priority = command.priority ?? delivery.priority;
    const { eventId, eventType } = delivery;
    const made = newRedelivery(access, { webhook, eventType, priority, origin: "retry", now: clock.now() });
    // What succeeded is only repeated: it can be asked for again, and stays what it is.
    const supersedes = delivery.progress.state === "success" ? null : delivery.id;
    requireAccepted(await access.requeue({ eventId, deliveries: [made], supersedes }));
    return { deliveryId: made.id, webhookId: webhook.id };
  }

  /** What it waits for only the owner of its webhook knows: that is read first, and with it the delivery again. */
  async #explain(scope: Scope, id: string): Promise<DeliveryView> {
    const { access } = this.#options;
    const view = access.explain(await this.#require(scope, id));
    if (view.waitingFor === null) return view;
    await access.refresh(waitingWebhooks([view]));
    return access.explain(await this.#require(scope, id));
  }

  async #require(scope: Scope, id: string): Promise<StoredDelivery> {
    const delivery = await this.#options.history.getDelivery({ tenantId: scope.tenantId, id });
    if (delivery === null) throw new NotFoundError("the delivery");
    return delivery;
  }

  #explainAll(page: Page<StoredDelivery>): Page<DeliveryView> {
    return { rows: page.rows.map((row) => this.#options.access.explain(row)), next: page.next };
  }

  /** `circuit_blocked` is no state of the store, so waiting rows are read and sorted by what they wait for. */
  async #listDerived(
    query: DeliveryListQuery & { readonly status: DeliveryStatus },
    read: (page: DeliveryListQuery["page"]) => Promise<Page<StoredDelivery>>,
  ): Promise<Page<DeliveryView>> {
    const { limit, offset } = query.page;
    const rows: DeliveryView[] = [];
    let toSkip = offset;
    let before = query.page.before;
    for (let pages = 0; pages < pagesReadMax; pages += 1) {
      const page = this.#explainAll(await read({ limit, offset: 0, before }));
      for (const view of page.rows) {
        if (view.status !== query.status) continue;
        if (toSkip > 0) toSkip -= 1;
        else rows.push(view);
        if (rows.length === limit) return { rows, next: view.delivery.position };
      }
      before = page.next;
      if (before === null) return { rows, next: null };
    }
    return { rows, next: before };
  }
}

/** Webhooks whose endpoints decide what these deliveries wait for. */
export function waitingWebhooks(views: readonly DeliveryView[]): readonly string[] {
  const waiting = views.filter(({ waitingFor }) => waitingFor !== null);
  return [...new Set(waiting.map(({ delivery }) => delivery.webhookId))];
}

/** Statuses whose rows depend on the circuit of the webhook. */
function isDerived(status: DeliveryStatus): boolean {
  return status === "circuit_blocked" || status === "pending" || status === "failed";
}

function statesOf(status: DeliveryStatus | null): readonly DeliveryState[] | null {
  if (status === null) return null;
  const problems = new ProblemList();
  problems.oneOf("status", { value: status, allowed: [...deliveryStates, "circuit_blocked"] });
  problems.throwIfAny("the listing");
  return status === "circuit_blocked" ? ["pending", "failed"] : [status];
}
