import { SearchBudget } from "../../ports/clock.ts";
import type { Page, PageRequest } from "../../ports/store.ts";
import type { HistoryStore, StoredDelivery } from "../../ports/store/history.ts";
import type { Exclusion, OperationKind, OperationSelection } from "../../ports/store/operations.ts";
import type { SearchPage, SearchPlace } from "../../ports/store/search.ts";
import { type DeliveryListing, takesOf } from "../deliveries/delivery-listing.ts";
import type { FeatureContext, ListedDelivery } from "../services.ts";
import { waitingStates } from "../../domain/delivery.ts";
import type { DeliveryView } from "../../engine/endpoint/explain.ts";

/** Selections that are listed from the newest on. */
export type Selection = Exclude<OperationSelection, { readonly kind: "ids" | "search" }>;

/** Rows per read. */
const pageRows = 200;
/** Counting stops here: the difference between one and two million does not matter. */
const countMax = 100_000;

/** Positions; both `below` and `from` are exclusive. Slices are processed from the oldest. */
interface Slice {
  readonly from: number;
  readonly below: number;
}

/** The number of deliveries in a selection, and the position above the newest. */
export async function measureSelection(
  history: HistoryStore,
  selection: Selection,
): Promise<{ readonly count: number; readonly before: number }> {
  const newest = await readPage(history, selection, null, 1);
  const before = (newest.rows[0]?.position ?? -1) + 1;
  if (selection.kind === "dead_letters") {
    return { before, count: await history.countDeadLetters({ ...withoutKind(selection), countMax }) };
  }
  return { before, count: await history.countDeliveries({ ...withoutKind(selection), countMax }) };
}

/**
 * Cuts a selection into slices, oldest first: receivers should get old events before newer ones, while listings start
 * with the newest. Stores one number per page, so a million deliveries take some tens of kilobytes.
 */
export async function sliceSelection(
  history: HistoryStore,
  selection: Selection,
  before: number,
  isCancelled: () => boolean,
): Promise<readonly Slice[]> {
  const slices: Slice[] = [];
  for (let below: number | null = before; below !== null && !isCancelled(); ) {
    const page: Page<StoredDelivery> = await readPage(history, selection, below, pageRows);
    const oldest = page.rows.at(-1);
    if (oldest === undefined) break;
    slices.push({ from: oldest.position - 1, below });
    below = page.next;
  }
  return slices.reverse();
}

/** Deliveries of a slice, oldest first. */
export async function readSlice(
  history: HistoryStore,
  selection: Selection,
  slice: Slice,
): Promise<readonly StoredDelivery[]> {
  const found: StoredDelivery[] = [];
  // More than one page only if deliveries joined the selection after it was cut.
  for (let below: number | null = slice.below; below !== null && below > slice.from; ) {
    const page: Page<StoredDelivery> = await readPage(history, selection, below, pageRows);
    found.push(...page.rows.filter((row) => row.position > slice.from));
    const oldest = page.rows.at(-1);
    below = oldest === undefined || oldest.position <= slice.from ? null : page.next;
  }
  return found.reverse();
}

function readPage(
  history: HistoryStore,
  selection: Selection,
  before: number | null,
  limit: number,
): Promise<Page<StoredDelivery>> {
  const page: PageRequest = { limit, before, offset: 0 };
  if (selection.kind === "dead_letters") return history.listDeadLetters({ ...withoutKind(selection), page });
  return history.listDeliveries({ ...withoutKind(selection), page });
}

/** Removes our own tag before the query is passed on. */
function withoutKind<Tagged extends { readonly kind: string }>(selection: Tagged): Omit<Tagged, "kind"> {
  const { kind: _, ...query } = selection;
  return query;
}

/** The input of a walk. */
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

/** The result of one read, oldest first; `cursor` is where to continue after it. */
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

/** Walks through the selection of an operation in portions, each evaluated in its current state. */
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
    for await (const found of this.#found(walked, isCancelled)) {
      const items = await this.#judged(walked, found);
      yield { items, cursor: found.cursor, tookMs: clock.monotonicMs() - begunMs };
      if (isCancelled()) return;
      begunMs = clock.monotonicMs();
    }
  }

  #found(walked: Walked, isCancelled: () => boolean): AsyncIterable<Found> {
    const { selection } = walked;
    if (selection.kind === "ids") return this.#byId(walked, selection);
    if (selection.kind === "search") return this.#bySearch(walked, selection);
    return this.#bySlices(walked, selection, isCancelled);
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

  async *#bySearch(
    { cursor, before }: Walked,
    selection: Extract<OperationSelection, { readonly kind: "search" }>,
  ): AsyncIterable<Found> {
    const { clock } = this.#context;
    const takes = takesOf(selection);
    const { filter } = selection;
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

  async *#bySlices(
    { before }: Walked,
    selection: Exclude<OperationSelection, { readonly kind: "ids" | "search" }>,
    isCancelled: () => boolean,
  ): AsyncIterable<Found> {
    const {
      store: { history },
    } = this.#context;
    for (const slice of await sliceSelection(history, selection, before ?? 0, isCancelled)) {
      if (isCancelled()) return;
      const stored = await readSlice(history, selection, slice);
      yield { rows: stored.map((row) => [this.#listing.listed(row), null]), cursor: null };
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

/** The position above all current deliveries of a tenant, or of all tenants. */
export async function positionAboveAll(
  history: Pick<HistoryStore, "listDeliveries">,
  tenantId: string | null,
): Promise<number> {
  const all = { webhookId: null, eventId: null, states: null, from: null, to: null };
  const { rows }: { readonly rows: readonly StoredDelivery[] } = await history.listDeliveries({
    ...all,
    tenantId,
    page: { limit: 1, before: null, offset: 0 },
  });
  return (rows[0]?.position ?? -1) + 1;
}

type BulkAction = "retry" | "cancel" | "discard";

export function actionOf(kind: OperationKind): BulkAction {
  return kind === "cancel" || kind === "discard" ? kind : "retry";
}

/** A delivery, with everything that decides whether it is included. */
interface Candidate {
  readonly view: DeliveryView;
  readonly hasWebhook: boolean;
  readonly isPayloadGone: boolean;
  /** The operation had already processed it before it was interrupted. */
  readonly isDone: boolean;
}

/** Why an action skips a delivery; null if it does not. */
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

/** Successful deliveries are sent again only if the selection explicitly includes them. */
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
