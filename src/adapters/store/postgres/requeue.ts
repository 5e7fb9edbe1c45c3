import { isDeadLetter } from "../../../core/delivery.ts";
import { endings } from "../../../core/delivery-state.ts";
import { endingKey } from "../../../core/statistics/keys.ts";
import type { Lease, RequeueCommand, RequeueResult } from "../../../ports/store/deliveries.ts";
import { decode, endingSql, stateCodes, waitingMax } from "../codes.ts";
import type { EndedDeliveries } from "../ended-counts.ts";
import { isStoredId, numbers, plainWords } from "./columns.ts";
import type { Deltas } from "./counters.ts";
import type { Transaction } from "./database.ts";
import type { DeliveryRows, EventRef } from "./delivery-rows.ts";
import type { Numbers } from "./positions.ts";
import { endedUnder } from "./settle.ts";
import type { StoreState } from "./state.ts";

type EventRow = [id: string, seq: number, tenant: number, bodyBytes: number | null];
type SupersededRow = [
  id: string,
  seq: number,
  event: number,
  tenant: number,
  state: number,
  priority: number,
  supersededBy: string | null,
  leaseUntil: number | null,
  webhook: number,
];

interface Superseded {
  readonly seq: number;
  readonly event: number;
  readonly tenant: number;
  readonly webhook: number;
  readonly state: number;
  readonly priority: number;
  readonly leaseUntil: number | null;
  /** Changes as the batch goes on. */
  isSuperseded: boolean;
}

interface Replacement {
  readonly seq: number;
  readonly by: string;
  readonly at: number;
  readonly waited: boolean;
}

/** One commit's requeues: new deliveries of stored events, and what they replace. */
export class RequeueBatch {
  readonly #state: StoreState;
  readonly #transaction: Transaction;
  readonly #numbers: Numbers;
  readonly #deliveries: DeliveryRows;
  readonly #deltas: Deltas;
  readonly #replacements: Replacement[] = [];
  readonly #ended: EndedDeliveries[] = [];
  readonly #countByEvent = new Map<number, number>();
  #events: ReadonlyMap<string, EventRow> = new Map();
  #superseded: ReadonlyMap<string, Superseded> = new Map();

  constructor(
    state: StoreState,
    context: {
      readonly transaction: Transaction;
      readonly numbers: Numbers;
      readonly deliveries: DeliveryRows;
      readonly deltas: Deltas;
    },
  ) {
    this.#state = state;
    this.#transaction = context.transaction;
    this.#numbers = context.numbers;
    this.#deliveries = context.deliveries;
    this.#deltas = context.deltas;
  }

  async run(commands: readonly RequeueCommand[]): Promise<readonly RequeueResult[]> {
    if (commands.length === 0) return [];
    await this.#readEvents(commands.map(({ eventId }) => eventId).filter(isStoredId));
    await this.#lockSuperseded(
      commands.flatMap(({ supersedes: id }) => (id !== null && isStoredId(id) ? [id] : [])),
    );
    const results = commands.map((command) => this.#requeue(command));
    await this.#writeReplacements();
    await this.#countRequeues();
    return results;
  }

  /** What ended because something else took over. */
  get ended(): readonly EndedDeliveries[] {
    return this.#ended;
  }

  #requeue({ eventId, deliveries, supersedes }: RequeueCommand): RequeueResult {
    const row = this.#events.get(eventId);
    if (row === undefined) return { kind: "event_not_found" };
    const [, seq, tenant, bodyBytes] = row;
    if (bodyBytes === null) return { kind: "payload_gone" };
    const [first] = deliveries;
    if (first === undefined) return { kind: "accepted", leases: [] };
    const replaced = supersedes === null ? undefined : this.#superseded.get(supersedes);
    if (replaced !== undefined && replaced.event === seq) {
      if (!this.#replace(replaced, { by: first.id, at: first.createdAt })) return { kind: "in_flight" };
    }
    this.#countByEvent.set(seq, (this.#countByEvent.get(seq) ?? 0) + deliveries.length);
    return { kind: "accepted", leases: this.#add(deliveries, { seq, tenant, bodyBytes }) };
  }

  #add(deliveries: RequeueCommand["deliveries"], event: EventRef): readonly Lease[] {
    return deliveries.map((delivery) => {
      const lane = this.#state.lanes.get(delivery.lane);
      // Nothing here locks an ordered lane against others, so what is new there waits for a claim.
      const leased = delivery.state === "pending" && delivery.claim && !lane.ordered;
      return this.#deliveries.add(delivery, { seq: this.#numbers.nextDelivery(), event, lane, leased });
    });
  }

  /** False when a request is in flight, or when another delivery took over before: there is one live schedule. */
  #replace(replaced: Superseded, change: { readonly by: string; readonly at: number }): boolean {
    const { seq, state, leaseUntil } = replaced;
    if (replaced.isSuperseded || (leaseUntil !== null && leaseUntil > change.at)) return false;
    const waited = state <= waitingMax;
    replaced.isSuperseded = true;
    this.#replacements.push({ seq, ...change, waited });
    const { tenant, webhook } = replaced;
    if (waited) this.#ended.push({ tenant, webhook, key: endingKey(endings.superseded), count: 1 });
    if (waited) this.#deltas.addWaiting(replaced.priority, -1);
    else if (isDeadLetter({ state: decode(stateCodes, state), isSuperseded: false }))
      this.#deltas.addDeadLetter(replaced.tenant, -1);
    return true;
  }

  async #readEvents(ids: readonly string[]): Promise<void> {
    const rows = await this.#transaction.rows<EventRow>(
      `SELECT id, seq, tenant, octet_length(body) FROM posthorn.events WHERE id = ANY ($1::uuid[])
       ORDER BY seq FOR NO KEY UPDATE`,
      [plainWords(ids)],
    );
    this.#events = new Map(rows.map((row) => [row[0], row]));
  }

  /** In the order of a settlement, queue before delivery, so that the two never wait for each other in a circle. */
  async #lockSuperseded(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#transaction.rows(
      `SELECT FROM posthorn.queue q JOIN posthorn.deliveries d ON d.seq = q.delivery
       WHERE d.id = ANY ($1::uuid[]) ORDER BY q.delivery FOR UPDATE OF q`,
      [plainWords(ids)],
    );
    const rows = await this.#transaction.rows<SupersededRow>(
      `SELECT d.id, d.seq, d.event, d.tenant, d.state, d.priority, d.superseded_by, q.lease_until, d.webhook
       FROM posthorn.deliveries d LEFT JOIN posthorn.queue q ON q.delivery = d.seq
       WHERE d.id = ANY ($1::uuid[]) ORDER BY d.seq FOR UPDATE OF d`,
      [plainWords(ids)],
    );
    this.#superseded = new Map(
      rows.map(([id, seq, event, tenant, state, priority, supersededBy, leaseUntil, webhook]) => [
        id,
        { seq, event, tenant, webhook, state, priority, leaseUntil, isSuperseded: supersededBy !== null },
      ]),
    );
  }

  async #writeReplacements(): Promise<void> {
    if (this.#replacements.length === 0) return;
    const replacements = this.#replacements;
    await this.#transaction.rows(
      `WITH given AS (
         SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::boolean[]) AS g (seq, by, at, waited)),
       unqueued AS (DELETE FROM posthorn.queue q USING given g WHERE q.delivery = g.seq
         RETURNING q.delivery, ${endedUnder}),
       undead AS (DELETE FROM posthorn.dead_letters l USING given g WHERE l.delivery = g.seq),
       ended AS (UPDATE posthorn.deliveries d SET ${endingSql(endings.superseded)}, superseded_by = g.by,
           completed_at = g.at, late_fence = u.late_fence
         FROM given g LEFT JOIN unqueued u ON u.delivery = g.seq WHERE d.seq = g.seq AND g.waited)
       UPDATE posthorn.deliveries d SET superseded_by = g.by FROM given g WHERE d.seq = g.seq AND NOT g.waited`,
      [
        numbers(replacements.map(({ seq }) => seq)),
        plainWords(replacements.map(({ by }) => by)),
        numbers(replacements.map(({ at }) => at)),
        `{${replacements.map(({ waited }) => waited).join(",")}}`,
      ],
    );
  }

  async #countRequeues(): Promise<void> {
    if (this.#countByEvent.size === 0) return;
    await this.#transaction.rows(
      `UPDATE posthorn.events e SET requeue_count = requeue_count + g.count
       FROM (SELECT * FROM unnest($1::bigint[], $2::int[]) AS u (seq, count)) g WHERE e.seq = g.seq`,
      [numbers([...this.#countByEvent.keys()]), numbers([...this.#countByEvent.values()])],
    );
  }
}
