import type { LaneKey } from "../../../core/webhook.ts";
import type {
  AcquiredWebhook,
  AcquireRequest,
  Acquisition,
  Beat,
  EndpointReportRow,
  Handover,
  LaneLeft,
  LaneLeftPage,
  OwnershipStore,
  RateHandover,
  RuntimeOrder,
} from "../../../ports/store/ownership.ts";
import { numbers, texts } from "./columns.ts";
import { workLeftAfter, workLeftIn } from "./work-left.ts";
import type { ConfigAnnouncer } from "./config-changes.ts";
import {
  acquireNamedSql,
  type AcquireRow,
  acquireWorkSql,
  beatSql,
  followedSql,
  freeUnservedSql,
  joinSql,
  lanesPerPage,
  leadSql,
  leaveSql,
  ordersForWebhooksSql,
  ordersForWorkerSql,
  ownedBesideSql,
  poolsSql,
  releaseSql,
  reportsSql,
  reportSql,
  retireSql,
} from "./ownership-sql.ts";
import type { StoreState } from "./state.ts";

/** Ownership in rows; that a worker lives is told by the database's clock alone. */
export class PostgresOwnership implements OwnershipStore {
  readonly #state: StoreState;
  readonly #config: ConfigAnnouncer;

  constructor(state: StoreState, config: ConfigAnnouncer) {
    this.#state = state;
    this.#config = config;
  }

  async join({ aliveMs, pool }: { readonly aliveMs: number; readonly pool: string }): Promise<number> {
    const [row] = await this.#state.database.rows<[worker: number]>(joinSql, [aliveMs, pool]);
    if (row === undefined) throw new Error("the database gave no number to a worker");
    const [worker] = row;
    this.#state.membership.worker = worker;
    return worker;
  }

  async beat(life: { readonly worker: number; readonly aliveMs: number }): Promise<Beat | null> {
    const { worker, aliveMs } = life;
    const [row] = await this.#state.database.rows<[workers: number, owned: number]>(beatSql, [
      worker,
      aliveMs,
    ]);
    return row === undefined ? null : { workers: row[0], owned: row[1] };
  }

  async acquire(request: AcquireRequest): Promise<Acquisition> {
    const { worker, from, limit, slack } = request;
    const bounds = [worker, limit, slack] as const;
    if (from.kind === "webhooks") {
      const refs = await this.#refs(from.ids);
      if (refs.length === 0) return { webhooks: [], next: null };
      return this.#acquired(await this.#rows(acquireNamedSql, [...bounds, numbers(refs)]));
    }
    const after = from.after === null ? 0 : Number(from.after);
    const except = numbers(await this.#refs(from.except));
    const rows = await this.#rows(acquireWorkSql, [...bounds, after, except]);
    // Each row has them, and there is always one.
    const [, , , , , , , , , , lastLane, looked] = rows[0] ?? noRow;
    const { webhooks } = await this.#acquired(rows);
    return { webhooks, next: looked < lanesPerPage || lastLane === null ? null : String(lastLane) };
  }

  async left(keys: readonly LaneKey[]): Promise<readonly LaneLeft[]> {
    const { lanes } = this.#state;
    await lanes.look(keys);
    const refs = keys.flatMap((key) => lanes.find(key)?.ref ?? []);
    return refs.length === 0 ? [] : workLeftIn(this.#state, refs);
  }

  async unserved(page: { readonly after: string | null; readonly limit: number }): Promise<LaneLeftPage> {
    const after = page.after === null ? 0 : Number(page.after);
    const { left, next } = await workLeftAfter(this.#state, { after, limit: page.limit });
    return {
      left: left.filter(({ worker }) => worker === null),
      next: next === null ? null : String(next),
    };
  }

  async release(command: { readonly worker: number; readonly webhooks: readonly Handover[] }): Promise<void> {
    const { words, database, announcer } = this.#state;
    await words.look(command.webhooks.map(({ state }) => state.webhookId));
    const known = command.webhooks.filter(({ state }) => words.find(state.webhookId) !== null);
    if (known.length === 0) return;
    const states = known.map(({ state }) => state);
    const rows = await database.rows<[lane: number]>(releaseSql, [
      command.worker,
      numbers(states.map(({ webhookId }) => words.ref(webhookId))),
      `{${known.map(({ rateFullAt }) => rateFullAt ?? "NULL").join(",")}}`,
      numbers(states.map(({ pausedUntil }) => pausedUntil)),
      texts(states.map(({ pauseReason }) => pauseReason)),
      numbers(states.map(({ lastSuccessAt }) => lastSuccessAt)),
      texts(states.map(({ circuit }) => circuit)),
      texts(states.map(({ health }) => health)),
      numbers(states.map(({ fence }) => fence ?? null)),
    ]);
    announcer.announce(rows.map(([lane]) => lane));
  }

  /** Reads and frees: freed at once, what is not named would be whatever the worker owns when a late call arrives. */
  async keepOnly(command: {
    readonly worker: number;
    readonly webhookIds: readonly string[];
  }): Promise<void> {
    const { database, announcer } = this.#state;
    const { worker } = command;
    const kept = numbers(await this.#refs(command.webhookIds));
    const owned = await database.rows<[webhook: number, fence: number]>(ownedBesideSql, [worker, kept]);
    if (owned.length === 0) return;
    const rows = await database.rows<[lane: number]>(freeUnservedSql, [
      worker,
      numbers(owned.map(([webhook]) => webhook)),
      numbers(owned.map(([, fence]) => fence)),
    ]);
    announcer.announce(rows.map(([lane]) => lane));
  }

  async retire(worker: number): Promise<void> {
    await this.#state.database.rows(retireSql, [worker]);
  }

  async pools(): Promise<ReadonlyMap<string, number>> {
    return new Map(await this.#state.aside.rows<[pool: string, workers: number]>(poolsSql));
  }

  async leave(worker: number): Promise<void> {
    const rows = await this.#state.database.rows<[lane: number]>(leaveSql, [worker]);
    this.#state.announcer.announce(rows.map(([lane]) => lane));
  }

  async order(command: { readonly webhookId: string; readonly order: string }): Promise<void> {
    await this.#state.database.rows(
      "INSERT INTO posthorn.runtime_orders (webhook, document) VALUES ($1, $2)",
      [command.webhookId, command.order],
    );
    await this.#config.announce({ kind: "orders", webhookIds: [command.webhookId] });
  }

  async orders(
    query: { readonly worker: number } | { readonly webhookIds: readonly string[] },
  ): Promise<readonly RuntimeOrder[]> {
    const { database } = this.#state;
    type Row = [ref: number, webhookId: string, order: string];
    const rows =
      "worker" in query
        ? await database.rows<Row>(ordersForWorkerSql, [query.worker])
        : await database.rows<Row>(ordersForWebhooksSql, [texts(query.webhookIds)]);
    return rows.map(([ref, webhookId, order]) => ({ ref, webhookId, order }));
  }

  async report(rows: readonly EndpointReportRow[]): Promise<void> {
    const { words, aside } = this.#state;
    await words.look(rows.map(({ webhookId }) => webhookId));
    const known = rows.filter(({ webhookId }) => words.find(webhookId) !== null);
    if (known.length === 0) return;
    await aside.rows(reportSql, [
      numbers(known.map(({ webhookId }) => words.ref(webhookId))),
      numbers(known.map(({ fence }) => fence)),
      texts(known.map(({ document }) => document)),
    ]);
  }

  async reports(webhookIds: readonly string[]): Promise<readonly EndpointReportRow[]> {
    const rows = await this.#state.database.rows<[webhookId: string, fence: number, document: string]>(
      reportsSql,
      [texts(webhookIds)],
    );
    return rows.map(([webhookId, fence, document]) => ({ webhookId, fence, document }));
  }

  async followed({ worker, refs }: Parameters<OwnershipStore["followed"]>[0]): Promise<void> {
    if (refs.length > 0) await this.#state.database.rows(followedSql, [worker, numbers(refs)]);
  }

  async lead(duty: {
    readonly name: string;
    readonly holder: string;
    readonly forMs: number;
  }): Promise<boolean> {
    const rows = await this.#state.database.rows(leadSql, [duty.name, duty.holder, duty.forMs]);
    return rows.length > 0;
  }

  #rows(sql: string, values: Parameters<StoreState["database"]["rows"]>[1]): Promise<readonly AcquireRow[]> {
    return this.#state.database.rows<AcquireRow>(sql, values);
  }

  /** A webhook that has no number never had a delivery, so there is nothing to own. */
  async #refs(ids: readonly string[]): Promise<readonly number[]> {
    if (ids.length === 0) return [];
    const { words } = this.#state;
    await words.look(ids);
    return ids.map((id) => words.find(id)).filter((ref) => ref !== null);
  }

  async #acquired(rows: readonly AcquireRow[]): Promise<Acquisition> {
    const { words, lanes } = this.#state;
    const taken = Map.groupBy(rows, ([webhook]) => webhook);
    taken.delete(null);
    await words.load([...taken.keys()].flatMap((webhook) => webhook ?? []));
    await lanes.load(rows.flatMap(laneIn));
    const webhooks = [...taken].map(([webhook, group]): AcquiredWebhook => {
      const webhookId = words.text(webhook ?? 0);
      const first = group[0] ?? noRow;
      const [, fence, rateHanded] = first;
      return {
        webhookId,
        fence,
        runtime: runtimeOf(webhookId, first),
        rate: rateOf(rateHanded),
        lanes: group.flatMap(laneIn).map((lane) => lanes.byRef(lane).key),
      };
    });
    return { webhooks, next: null };
  }
}

/** A webhook of which nothing waits has a row all the same, without a lane. */
function laneIn([, , , , , , , , , lane]: AcquireRow): readonly number[] {
  return lane === null ? [] : [lane];
}

const noRow: AcquireRow = [null, 0, null, false, null, null, null, null, null, null, null, 0];

function runtimeOf(webhookId: string, row: AcquireRow): AcquiredWebhook["runtime"] {
  const [, , , hasState, pausedUntil, pauseReason, lastSuccessAt, circuit, health] = row;
  return hasState ? { webhookId, pausedUntil, pauseReason, lastSuccessAt, circuit, health } : null;
}

/** Null: the last owner had no limit. Negative: it left nothing, because it died (migrations/0002-ownership.ts). */
function rateOf(handed: number | null): RateHandover {
  if (handed === null) return { kind: "unused" };
  return handed < 0 ? { kind: "unknown" } : { kind: "full_at", fullAt: handed };
}
