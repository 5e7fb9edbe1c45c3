import { type Clock, SearchBudget, unlimitedBudget } from "../../ports/clock.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import {
  type BatchOperation,
  type Exclusion,
  type OperationKind,
  type OperationOutcome,
  type OperationSelection,
  isAtRest,
} from "../../ports/store/operations.ts";
import {
  type DeliveryFilter,
  everyDelivery,
  type SearchPage,
  type SearchPlace,
} from "../../ports/store/search.ts";
import { type DeliveryListing, takesOf } from "../deliveries/delivery-listing.ts";
import type { FeatureContext, ListedDelivery } from "../services.ts";
import { type DeliveryState, waitingStates } from "../../domain/delivery.ts";
import type { DeliveryView } from "../../engine/endpoint/explain.ts";

/** Selections of deliveries, except for those listed by id. */
export type Selection = Exclude<OperationSelection, { readonly kind: "ids" }>;

/** Counting stops at this number: the difference between one and two million does not matter. */
const countMax = 100_000;

/** The filter of a selection, with all conditions that the store can evaluate. */
export function filterOf(selection: Selection): DeliveryFilter {
  if (selection.kind === "search") return selection.filter;
  const { tenantId, webhookIds, from, to } = selection;
  // A filter without its webhooks would select the deliveries of all of them.
  if (webhookIds === undefined) throw new Error(`the selection of ${selection.kind} has no webhooks`);
  const filter = { ...everyDelivery, tenantId, webhookIds, from, to };
  if (selection.kind === "deliveries") return { ...filter, states: selection.states };
  const { eventTypes, categories } = selection;
  return { ...filter, states: ["exhausted"], eventTypes, categories };
}

/** The number of deliveries in a selection, and the position above the newest of them. */
export async function measureSelection(
  history: HistoryStore,
  selection: Selection,
): Promise<{ readonly count: number; readonly before: number }> {
  const filter = filterOf(selection);
  const before = await positionAbove(history, filter);
  return { before, count: await history.countDeliveries(filter, countMax) };
}

/** The position above all current deliveries that match a filter. */
export async function positionAbove(
  history: Pick<HistoryStore, "searchDeliveries">,
  filter: DeliveryFilter,
): Promise<number> {
  const search = { filter, order: "newest", after: null, limit: 1, budget: unlimitedBudget } as const;
  const { rows } = await history.searchDeliveries(search);
  return (rows[0]?.position ?? -1) + 1;
}

/** The input of a scan. */
export interface Walked {
  /** Id of the operation; null for a preview. */
  readonly id: string | null;
  readonly kind: OperationKind;
  readonly selection: OperationSelection;
  /** `cursor` of the last processed item; null at the start. */
  readonly cursor: number | null;
  readonly before: number | null;
}

/** A delivery of a selection, with the decision about it. */
export interface WalkItem {
  readonly row: ListedDelivery | null;
  readonly exclusion: Exclusion | null;
  readonly cursor: number | null;
}

/** The result of one read, oldest first. The next read continues after `cursor`. */
interface Portion {
  readonly items: readonly WalkItem[];
  readonly cursor: number | null;
  /** Duration of the read. */
  readonly tookMs: number;
}

type Found = Pick<Portion, "cursor"> & {
  readonly rows: readonly (readonly [row: ListedDelivery | null, cursor: number | null])[];
};

const rowsAtOnce = 200;
const idsAtOnce = 50;
/** Budget of one read, as for a page. */
const lookBounds = { rowsMax: 100_000, durationMsMax: 200 };

/** Scans the selection of an operation in portions and evaluates each delivery in its current state. */
export class SelectionWalk {
  readonly #context: FeatureContext;
  readonly #listing: DeliveryListing;

  constructor(context: FeatureContext, listing: DeliveryListing) {
    this.#context = context;
    this.#listing = listing;
  }

  async *portions(walked: Walked, isCancelled: () => boolean): AsyncIterable<Portion> {
    const { clock } = this.#context;
    let begunMs = clock.monotonicMs();
    for await (const found of this.#found(walked)) {
      const items = await this.#judged(walked, found);
      yield { items, cursor: found.cursor, tookMs: clock.monotonicMs() - begunMs };
      if (isCancelled()) return;
      begunMs = clock.monotonicMs();
    }
  }

  #found(walked: Walked): AsyncIterable<Found> {
    const { selection } = walked;
    return selection.kind === "ids" ? this.#byId(walked, selection) : this.#bySearch(walked, selection);
  }

  async *#byId(
    { cursor }: Walked,
    { ids, tenantId }: Extract<OperationSelection, { readonly kind: "ids" }>,
  ): AsyncIterable<Found> {
    const {
      access,
      store: { history },
    } = this.#context;
    for (let at = cursor ?? 0; at < ids.length; at += idsAtOnce) {
      const some = ids.slice(at, at + idsAtOnce);
      const stored = await history.getDeliveries(tenantId, some);
      await access.refresh([...new Set(stored.map((row) => row.webhookId))]);
      const byId = new Map(stored.map((row) => [row.id, this.#listing.listed(row)]));
      const rows = some.map((id, index): Found["rows"][number] => [byId.get(id) ?? null, at + index + 1]);
      yield { rows, cursor: at + some.length };
    }
  }

  /** Starts with the oldest delivery, because receivers should get old events before newer ones. */
  async *#bySearch({ cursor, before }: Walked, selection: Selection): AsyncIterable<Found> {
    const { clock } = this.#context;
    const takes = selection.kind === "search" ? takesOf(selection) : null;
    const filter = filterOf(selection);
    let after: SearchPlace | null = cursor === null ? null : { position: cursor, dueAt: null };
    for (;;) {
      const budget = new SearchBudget(clock, lookBounds);
      const search = { filter, order: "oldest", after, limit: rowsAtOnce, budget } as const;
      const page: SearchPage<ListedDelivery> = await this.#listing.read(search);
      const own = page.rows.filter(({ delivery }) => before === null || delivery.position < before);
      const rows = own
        .filter((row) => takes === null || takes(row))
        .map((row): Found["rows"][number] => [row, row.delivery.position]);
      const last = own.at(-1)?.delivery.position ?? null;
      yield { rows, cursor: page.next?.position ?? last };
      if (page.next === null || own.length < page.rows.length) return;
      after = page.next;
    }
  }

  async #judged({ id, kind, selection }: Walked, { rows }: Found): Promise<readonly WalkItem[]> {
    const action = actionOf(kind);
    const gone = action === "retry" ? await this.#payloadsGone(rows.map(([row]) => row)) : new Set();
    return rows.map(([row, cursor]) => {
      if (row === null) return { row, cursor, exclusion: "not_found" };
      const candidate = {
        view: row,
        hasWebhook: row.webhook !== null,
        isPayloadGone: gone.has(row.delivery.eventId),
        isDone: id !== null && row.delivery.retries.some(({ operationId }) => operationId === id),
      };
      return { row, cursor, exclusion: exclusionOf(candidate, action, selection) };
    });
  }

  async #payloadsGone(rows: readonly (ListedDelivery | null)[]): Promise<ReadonlySet<string>> {
    const ids = new Set(rows.flatMap((row) => (row === null ? [] : [row.delivery.eventId])));
    return ids.size === 0 ? ids : this.#context.store.history.payloadsGone([...ids]);
  }
}

type BulkAction = "retry" | "cancel" | "discard";

export function actionOf(kind: OperationKind): BulkAction {
  return kind === "cancel" || kind === "discard" ? kind : "retry";
}

/** A delivery with the data that decides whether it is included. */
interface Candidate {
  readonly view: DeliveryView;
  readonly hasWebhook: boolean;
  readonly isPayloadGone: boolean;
  /** Whether the operation had already processed the delivery before the interruption. */
  readonly isDone: boolean;
}

/** Why an action skips a delivery; null if the action includes it. */
function exclusionOf(
  { view, hasWebhook, isPayloadGone, isDone }: Candidate,
  action: BulkAction,
  selection: OperationSelection,
): Exclusion | null {
  const { progress, lane } = view.delivery;
  const waits = waitingStates.some((state) => state === progress.state);
  const isInFlight = view.waitingFor === "in_flight";
  if (action === "discard") return progress.state === "exhausted" ? null : "not_a_dead_letter";
  if (action === "cancel") {
    if (!waits) return "already_ended";
    return isInFlight ? "in_flight" : null;
  }
  if (isDone) return "already_retried";
  if (isInFlight) return "in_flight";
  if (!hasWebhook) return "webhook_deleted";
  if (progress.state === "success" && !takesAccepted(selection)) return "accepted";
  if (waits && lane.ordering !== "none") return "order";
  return isPayloadGone ? "payload_gone" : null;
}

/** Whether the selection explicitly includes successful deliveries. Otherwise, they are not sent again. */
function takesAccepted(selection: OperationSelection): boolean {
  switch (selection.kind) {
    case "search":
      return selection.statuses?.includes("success") ?? false;
    case "deliveries":
      return selection.states?.includes("success") ?? false;
    default:
      return true;
  }
}

interface Counted {
  readonly outcome: OperationOutcome;
  readonly validUntilMs: number;
}

const sentAtOnce = 2_000;
/** Pages reload operations every second; counting more often is pointless. */
const validMsMin = 1_000;
/** A count stays valid for this multiple of the time that counting took. */
const validShare = 10;
const keptMax = 1_000;

/** Counts the outcomes of deliveries that an operation sent again, and caches them briefly. */
export class OperationOutcomes {
  readonly #history: Pick<HistoryStore, "sentByOperation">;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #counted = new Map<string, Counted>();

  constructor(history: Pick<HistoryStore, "sentByOperation">, clock: Pick<Clock, "monotonicMs">) {
    this.#history = history;
    this.#clock = clock;
  }

  /** The operation with its current outcome. The stored outcome of a finished operation no longer changes. */
  async shown(operation: BatchOperation): Promise<BatchOperation> {
    const isKept = isAtRest(operation) && operation.outcome !== null && operation.outcome.waiting === 0;
    if (isKept || actionOf(operation.kind) !== "retry") return operation;
    return { ...operation, outcome: await this.#outcomeOf(operation) };
  }

  async #outcomeOf({ id, queued }: BatchOperation): Promise<OperationOutcome> {
    if (queued === 0) return { delivered: 0, failed: 0, waiting: 0 };
    const known = this.#counted.get(id);
    const begunMs = this.#clock.monotonicMs();
    if (known !== undefined && known.validUntilMs > begunMs) return known.outcome;
    const outcome = await countSent(this.#history, id);
    const nowMs = this.#clock.monotonicMs();
    const validUntilMs = nowMs + Math.max(validMsMin, validShare * (nowMs - begunMs));
    this.#counted.delete(id);
    this.#counted.set(id, { outcome, validUntilMs });
    const [oldest] = this.#counted.keys();
    if (this.#counted.size > keptMax && oldest !== undefined) this.#counted.delete(oldest);
    return outcome;
  }
}

/** Counts the outcomes of all deliveries that an operation sent again, regardless of the operation's counters. */
export async function countSent(
  history: Pick<HistoryStore, "sentByOperation">,
  operationId: string,
): Promise<OperationOutcome> {
  const total = { delivered: 0, failed: 0, waiting: 0 };
  let after: number | null = null;
  do {
    const page = await history.sentByOperation({ operationId, after, limit: sentAtOnce });
    for (const [state, count] of Object.entries(page.states)) total[fateOf(state as DeliveryState)] += count;
    after = page.next;
  } while (after !== null);
  return total;
}

function fateOf(state: DeliveryState): keyof OperationOutcome {
  if (state === "success") return "delivered";
  return waitingStates.some((each) => each === state) ? "waiting" : "failed";
}
