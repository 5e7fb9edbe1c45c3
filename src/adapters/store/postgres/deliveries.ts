import type {
  ClaimRequest,
  ClaimResult,
  CommitBatch,
  CommitResult,
  DeliveryStore,
  LanePage,
  Lease,
  Settlement,
  StoreDepth,
} from "../../../ports/store/deliveries.ts";
import { Claimer } from "./claim.ts";
import { numbers } from "./columns.ts";
import { deadLetterKind, Deltas } from "./counters.ts";
import type { Transaction } from "./database.ts";
import { DeliveryRows } from "./delivery-rows.ts";
import { lanesFound } from "./lanes-with-work.ts";
import { drawNumbers } from "./positions.ts";
import { PublishBatch } from "./publish.ts";
import { RequeueBatch } from "./requeue.ts";
import { type SettleBatch, writeSettlements, writeWebhookStates } from "./settle.ts";
import type { StoreState } from "./state.ts";

/** What a transaction did, and the lanes in which it left work for others. */
interface Committed {
  readonly result: CommitResult;
  readonly lanes: readonly number[];
}

/** The path of an event: a commit is a handful of statements, a claim one, whatever the size of the batch. */
export class PostgresDeliveries implements DeliveryStore {
  readonly #state: StoreState;
  readonly #claimer: Claimer;
  /** Settlements of commits that failed with the connection: they may have been written. */
  readonly #inDoubt = new WeakSet<Settlement>();

  constructor(state: StoreState) {
    this.#state = state;
    this.#claimer = new Claimer(state, (leases) => this.release(leases));
  }

  async commit(batch: CommitBatch): Promise<CommitResult> {
    const { database, announcer } = this.#state;
    const { publishes, requeues, webhookStates } = batch;
    await this.#internWords(batch);
    const onlySettles = publishes.length + requeues.length + webhookStates.length === 0;
    try {
      const { result, lanes } = onlySettles
        ? await this.#settleAlone(batch)
        : await database.transaction((transaction) => this.#write(transaction, batch));
      announcer.announce(lanes);
      return result;
    } catch (error) {
      for (const settlement of batch.settlements) this.#inDoubt.add(settlement);
      throw error;
    }
  }

  async claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]> {
    return this.#claimer.claim(requests);
  }

  async release(leases: readonly Lease[]): Promise<void> {
    if (leases.length === 0) return;
    const rows = await this.#state.database.rows<[lane: number]>(
      `UPDATE posthorn.queue q SET owner = NULL, lease_until = NULL, fence = q.fence + 1
       FROM unnest($1::bigint[], $2::int[]) AS g (ref, fence)
       WHERE q.delivery = g.ref AND q.fence = g.fence AND g.fence > 0 RETURNING q.lane`,
      [numbers(leases.map(({ ref }) => ref)), numbers(leases.map(({ fence }) => fence))],
    );
    this.#state.announcer.announce(rows.map(([lane]) => lane));
  }

  /** One more than asked for tells whether there is another page. */
  async lanesWithWork(page: { readonly after: string | null; readonly limit: number }): Promise<LanePage> {
    const { database, lanes } = this.#state;
    const rows = await database.rows<[lane: number]>(
      `WITH RECURSIVE ${lanesFound("$1::int")}
       SELECT lane FROM found WHERE lane IS NOT NULL LIMIT $2`,
      [page.after === null ? 0 : Number(page.after), page.limit + 1],
    );
    const shown = rows.slice(0, page.limit).map(([lane]) => lane);
    await lanes.load(shown);
    const next = rows.length > page.limit ? String(shown.at(-1) ?? page.after ?? 0) : null;
    return { lanes: shown.map((ref) => lanes.byRef(ref).key), next };
  }

  async depth(): Promise<StoreDepth> {
    const rows = await this.#state.database.rows<[kind: number, tenant: string | null, value: number]>(
      `SELECT c.kind, w.word, sum(c.value)::bigint FROM posthorn.counters c
       LEFT JOIN posthorn.words w ON w.ref = c.tenant GROUP BY c.kind, w.word HAVING sum(c.value) <> 0`,
    );
    const waiting = (priority: number) => rows.find(([kind]) => kind === priority)?.[2] ?? 0;
    const dead = rows.filter(([kind]) => kind === deadLetterKind);
    return {
      waiting: { high: waiting(0), normal: waiting(1), low: waiting(2) },
      deadLetters: new Map(dead.map(([, tenant, value]) => [tenant ?? "", value])),
    };
  }

  /** Before the transaction: words and lanes are of use to everyone, and a refused commit does no harm to them. */
  async #internWords({ publishes, requeues }: CommitBatch): Promise<void> {
    if (publishes.length + requeues.length === 0) return;
    const { words, lanes } = this.#state;
    await words.intern(
      publishes.flatMap(({ event }) => [event.tenantId, event.eventType, event.contentType]),
    );
    await lanes.intern(
      [...publishes, ...requeues].flatMap(({ deliveries }) => deliveries.map(({ lane }) => lane)),
    );
  }

  /** The most frequent commit under load needs no transaction around its one statement. */
  async #settleAlone({ settlements }: CommitBatch): Promise<Committed> {
    const { database } = this.#state;
    const { settled, lanesLeft } = await writeSettlements(database, this.#settleBatch(settlements));
    return { result: { publishes: [], requeues: [], settled }, lanes: lanesLeft };
  }

  /**
   * The order in which rows are locked, which all commits share, so that none waits for another in a circle:
   *
   *   1. `tenant_sequences` of the publishes, by tenant: from here on commits of one tenant follow each other
   *   2. `events` that are sent again, then of what that supersedes `queue` and `deliveries`, each by position
   *   3. `counters`, the lower shards, for what is new
   *   4. `queue` and `deliveries` of the settlements, then `counters`, the higher shards
   *   5. `webhook_states`, by webhook
   *
   * New rows are nobody else's. Settlements come in no order of rows: two commits that settle the same deliveries are rare,
   * as a delivery has one holder, and when they meet in a circle the server ends one and database.ts tries it again.
   */
  async #write(transaction: Transaction, batch: CommitBatch): Promise<Committed> {
    const { owner } = this.#state;
    const deltas = new Deltas();
    const deliveries = new DeliveryRows({ owner, deltas });
    const drawn = await drawNumbers(transaction, this.#needOf(batch));
    const context = { transaction, numbers: drawn, deliveries, deltas };
    const publishes = await new PublishBatch(this.#state, context).run(batch.publishes);
    const requeues = await new RequeueBatch(this.#state, context).run(batch.requeues);
    if (batch.publishes.length + batch.requeues.length > 0) await deliveries.insert(transaction);
    const { settled, lanesLeft } = await writeSettlements(transaction, this.#settleBatch(batch.settlements));
    await writeWebhookStates(transaction, batch.webhookStates);
    return {
      result: { publishes, requeues, settled },
      lanes: [...deliveries.lanesWithFree, ...lanesLeft],
    };
  }

  #settleBatch(settlements: readonly Settlement[]): SettleBatch {
    const isInDoubt = (settlement: Settlement): boolean => this.#inDoubt.has(settlement);
    return { settlements, owner: this.#state.owner, isInDoubt };
  }

  #needOf(batch: CommitBatch): { eventsByTenant: Map<number, number>; deliveries: number } {
    const eventsByTenant = new Map<number, number>();
    for (const { event } of batch.publishes) {
      const tenant = this.#state.words.ref(event.tenantId);
      eventsByTenant.set(tenant, (eventsByTenant.get(tenant) ?? 0) + 1);
    }
    const deliveries = [...batch.publishes, ...batch.requeues].reduce(
      (sum, command) => sum + command.deliveries.length,
      0,
    );
    return { eventsByTenant, deliveries };
  }
}
