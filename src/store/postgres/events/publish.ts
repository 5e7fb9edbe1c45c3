import type {
  FanOutPart,
  Lease,
  NewEvent,
  PublishCommand,
  PublishResult,
} from "../../../ports/store/deliveries.ts";
import { priorityCodes, storable } from "../../column-values.ts";
import { answerToRepeat, type EarlierPublish, isKeyed, partsOf, unpackPart } from "../../publish-rows.ts";
import type { Transaction } from "../driver/database.ts";
import { numbers, plainWords, texts } from "../driver/sql.ts";
import type { StoreState } from "../state.ts";
import {
  DeliveryRows,
  EventRows,
  insertDeliveriesSteps,
  insertEventsSql,
  type StoredRow,
} from "./event-rows.ts";
import { Deltas, hasFree, hasLeased } from "./lane-counters.ts";
import { blockSize, bumpedSql, drawNumbers, giveBackNumbers, type Numbers } from "./positions.ts";

/**
 * Writes new events with their deliveries in one statement, if nothing has to be read first; it draws the numbers as
 * well. This saves three statements, which is most of the cost of a single event.
 *
 * The tenants are locked first, because the positions are drawn from what `bumped` returned. The counters come last,
 * because steps that no other step reads run last.
 */
const insertSql = `WITH bumped AS (${bumpedSql}),
  blocks AS MATERIALIZED (
    SELECT nextval('posthorn.event_blocks') * ${blockSize} AS event,
      nextval('posthorn.delivery_blocks') * ${blockSize} AS delivery
    FROM (SELECT count(*) FROM bumped) AS locked),
  stored AS (${shifted(
    insertEventsSql(
      "b.event + g.seq",
      "s.sequence_last + g.sequence_number",
      "CROSS JOIN blocks b JOIN bumped s ON s.tenant = g.tenant",
    ),
    2,
  )}),
  ${shifted(insertDeliveriesSteps("b.delivery + g.seq", "b.event + g.event", "CROSS JOIN blocks b"), 20)}
  SELECT b.event, b.delivery, s.tenant, s.sequence_last FROM blocks b CROSS JOIN bumped s`;

/** The positions of the written rows. */
interface Placed {
  /** Position of the first event. */
  readonly event: number;
  /** Position of the first delivery. */
  readonly delivery: number;
  /** The last sequence number of each tenant. */
  readonly lasts: ReadonlyMap<number, number>;
}

/** Writes rows whose numbers are relative (`relativeNumbers`). There must be at least one event. */
async function writeNewEvents(
  transaction: Transaction,
  events: EventRows,
  deliveries: DeliveryRows,
): Promise<Placed> {
  const counts = [...events.countsByTenant];
  const rows = await transaction.rows<[event: number, delivery: number, tenant: number, last: number]>(
    insertSql,
    [
      numbers(counts.map(([tenant]) => tenant)),
      numbers(counts.map(([, count]) => count)),
      ...events.columns(),
      ...deliveries.columns(),
    ],
  );
  const [[event, delivery] = [0, 0]] = rows;
  return { event, delivery, lasts: new Map(rows.map(([, , tenant, last]) => [tenant, last])) };
}

/** Whether these events can be written without reading stored keys or waiting deliveries of ordered lanes. */
export function areNew(publishes: readonly PublishCommand[]): boolean {
  let deliveries = 0;
  for (const command of publishes) {
    if (isKeyed(command)) return false;
    deliveries += command.deliveries.length;
    for (const { lane, claim, state } of command.deliveries)
      if (claim && state === "pending" && lane.ordering !== "none") return false;
  }
  return publishes.length > 0 && publishes.length <= blockSize && deliveries <= blockSize;
}

/** Returns the statement with shifted parameter numbers. */
function shifted(sql: string, by: number): string {
  return sql.replaceAll(/\$(\d+)/g, (_, number) => `$${Number(number) + by}`);
}

type EarlierRow = [
  tenant: number,
  key: string,
  fingerprint: string | null,
  expiresAt: number,
  id: string,
  eventType: string,
  timestamp: number,
  sequenceNumber: number,
  deliveries: number,
];

interface Earlier extends EarlierPublish {
  readonly expiresAt: number;
}

/**
 * The publishes of one commit: reads the data that the decisions depend on, decides in memory, and collects the rows.
 */
export class PublishBatch {
  readonly #state: StoreState;
  readonly #transaction: Transaction;
  readonly #numbers: Numbers;
  readonly #deliveries: DeliveryRows;
  readonly #events = new EventRows();
  #earlier = new Map<string, Earlier>();
  /** Ordered lanes with waiting deliveries of other processes; new deliveries must wait behind these. */
  readonly #behindOthers: Set<number>;

  constructor(
    state: StoreState,
    transaction: Transaction,
    drawn: Numbers,
    deliveries: DeliveryRows,
    /** Lanes in which this process may hold leases that it does not track. */
    lostLanes: ReadonlySet<number>,
  ) {
    this.#state = state;
    this.#transaction = transaction;
    this.#numbers = drawn;
    this.#deliveries = deliveries;
    this.#behindOthers = new Set(lostLanes);
  }

  /** Valid after the events are written. */
  get firstEvent(): StoredRow | null {
    return this.#events.first;
  }

  /** Runs commands that need no reads in one statement; their numbers are relative. */
  async runAtOnce(commands: readonly PublishCommand[]): Promise<readonly PublishResult[]> {
    const results = commands.map((command) => this.#publish(command));
    const placed = await writeNewEvents(this.#transaction, this.#events, this.#deliveries);
    this.#events.placedAt(placed.event);
    this.#deliveries.placedAt(placed.delivery);
    return results.map((result, at) => {
      if (result.kind !== "accepted") return result;
      const tenant = this.#state.strings.ref(commands[at]?.event.tenantId ?? "");
      return {
        kind: "accepted",
        sequenceNumber: result.sequenceNumber + (placed.lasts.get(tenant) ?? 0),
        leases: result.leases.map((lease) => ({ ...lease, ref: lease.ref + placed.delivery })),
      };
    });
  }

  async run(commands: readonly PublishCommand[]): Promise<readonly PublishResult[]> {
    await this.#readEarlier(commands.filter(isKeyed));
    await this.#readOrderedLanes(commands);
    const results = commands.map((command) => this.#publish(command));
    await giveBackNumbers(this.#transaction, this.#numbers.unused());
    await this.#events.insert(this.#transaction);
    return results;
  }

  #publish(command: PublishCommand): PublishResult {
    const { event } = command;
    const tenant = this.#state.strings.ref(event.tenantId);
    const known = isKeyed(command) ? this.#earlier.get(keyName(tenant, event)) : undefined;
    if (known !== undefined && known.expiresAt > event.createdAt) return answerToRepeat(event, known);
    const seq = this.#numbers.nextEvent();
    const sequenceNumber = this.#numbers.nextSequence(tenant);
    this.#addEvent(command, seq, tenant, sequenceNumber);
    if (isKeyed(command)) this.#remember(command, tenant, sequenceNumber);
    const leases = this.#addDeliveries(command, { seq, tenant });
    return { kind: "accepted", sequenceNumber, leases };
  }

  #addEvent(
    { event, deliveries, later = [] }: PublishCommand,
    seq: number,
    tenant: number,
    sequenceNumber: number,
  ): void {
    const { strings } = this.#state;
    this.#events.add(event, {
      seq,
      tenant,
      sequenceNumber,
      eventType: strings.ref(event.eventType),
      contentType: strings.ref(event.contentType),
      priority: priorityCodes.encode[event.priority],
      deliveries: deliveries.length + later.length,
    });
  }

  #addDeliveries(
    { event, deliveries }: PublishCommand,
    ref: { readonly seq: number; readonly tenant: number },
  ): readonly Lease[] {
    const stored = { ...ref, bodyBytes: event.body.byteLength };
    const leases: Lease[] = [];
    for (const delivery of deliveries) {
      const lane = this.#state.lanes.get(delivery.lane);
      const waits = delivery.state === "pending";
      const leased = waits && delivery.claim && !(lane.ordered && this.#behindOthers.has(lane.ref));
      if (waits && !leased && lane.ordered) this.#behindOthers.add(lane.ref);
      const seq = this.#numbers.nextDelivery();
      leases.push(this.#deliveries.add(delivery, seq, stored, lane, leased));
    }
    return leases;
  }

  #remember(
    { event, dedupUntil, deliveries, later = [] }: PublishCommand,
    tenant: number,
    sequenceNumber: number,
  ): void {
    const { id, eventType, timestamp, fingerprint } = event;
    const expiresAt = dedupUntil ?? 0;
    this.#earlier.set(keyName(tenant, event), {
      fingerprint,
      expiresAt,
      original: {
        id,
        eventType,
        timestamp,
        sequenceNumber,
        deliveries: deliveries.length + later.length,
      },
    });
    this.#events.addKey(event, tenant, expiresAt);
  }

  /** The tenants are locked, so no other commit can add one of these keys until this commit ends. */
  async #readEarlier(keyed: readonly PublishCommand[]): Promise<void> {
    if (keyed.length === 0) return;
    const rows = await this.#transaction.rows<EarlierRow>(
      `SELECT k.tenant, k.key, k.fingerprint, k.expires_at, e.id, t.string, e.occurred_at, e.sequence_number,
         e.delivery_count
       FROM (SELECT DISTINCT * FROM unnest($1::int[], $2::text[])) AS w (tenant, key)
       CROSS JOIN LATERAL (
         SELECT * FROM posthorn.dedup_keys k WHERE k.tenant = w.tenant AND k.key = w.key OFFSET 0) AS k
       CROSS JOIN LATERAL (SELECT * FROM posthorn.events e WHERE e.id = k.event OFFSET 0) AS e
       JOIN posthorn.strings t ON t.ref = e.event_type`,
      [
        numbers(keyed.map(({ event }) => this.#state.strings.ref(event.tenantId))),
        texts(keyed.map(({ event }) => event.idempotencyKey)),
      ],
    );
    this.#earlier = new Map(
      rows.map(
        ([tenant, key, fingerprint, expiresAt, id, eventType, timestamp, sequenceNumber, deliveries]) => [
          `${tenant} ${key}`,
          { fingerprint, expiresAt, original: { id, eventType, timestamp, sequenceNumber, deliveries } },
        ],
      ),
    );
  }

  /** In an ordered lane, a lease is granted only if all deliveries that wait there are leased by this process. */
  async #readOrderedLanes(commands: readonly PublishCommand[]): Promise<void> {
    const asked = new Map<number, number>();
    for (const { deliveries } of commands) {
      for (const { lane: key, claim, state, createdAt } of deliveries) {
        const lane = this.#state.lanes.get(key);
        if (lane.ordered && claim && state === "pending") asked.set(lane.ref, createdAt);
      }
    }
    if (asked.size === 0) return;
    const rows = await this.#transaction.rows<[lane: number]>(
      `SELECT lane FROM unnest($1::int[], $2::bigint[]) AS w (lane, now)
       WHERE ${hasFree("w.lane")} OR ${hasLeased("w.lane", "(q.owner <> $3 OR q.lease_until <= w.now)")}`,
      [numbers([...asked.keys()]), numbers([...asked.values()]), this.#state.processNumber],
    );
    for (const [lane] of rows) this.#behindOthers.add(lane);
  }
}

function keyName(tenant: number, event: NewEvent): string {
  return `${tenant} ${storable(event.idempotencyKey ?? "")}`;
}

type PartRow = [event: number, part: number, document: string, tenant: number, bodyBytes: number];

const partSql = (more: string): string =>
  `SELECT p.event, p.part, p.document, e.tenant, coalesce(octet_length(e.body), 0)
   FROM posthorn.fan_out_parts p JOIN posthorn.events e ON e.seq = p.event ${more}`;

const nextSql = partSql("ORDER BY p.event, p.part LIMIT 1 OFFSET $1");
/** Locks the part against other writers, or skips it if another process has locked it. */
const lockSql = partSql("WHERE p.event = $1 AND p.part = $2 FOR UPDATE OF p SKIP LOCKED");

/** Upkeep may already have cancelled the waiting deliveries of a deleted webhook. */
const cancelAgainSql = `UPDATE posthorn.webhooks SET cancel_due = true
  WHERE deleted_at IS NOT NULL AND NOT cancel_due AND id = ANY ($1::text[])`;

/** Stores the parts whose deliveries are written later. Called once the events are written. */
export async function keepParts(
  transaction: Transaction,
  publishes: readonly PublishCommand[],
  results: readonly PublishResult[],
): Promise<void> {
  for (const [at, command] of publishes.entries()) {
    if (command.later === undefined || results[at]?.kind !== "accepted") continue;
    const parts = partsOf(command);
    await transaction.rows(
      `INSERT INTO posthorn.fan_out_parts (event, part, document)
       SELECT e.seq, g.part, g.document FROM posthorn.events e,
         unnest($2::int[], $3::text[]) AS g (part, document) WHERE e.id = $1::uuid`,
      [command.event.id, numbers(parts.map((_, part) => part)), texts(parts.map(({ document }) => document))],
    );
  }
}

/** Writes the first part that no other process is writing. */
export async function fanOut(state: StoreState): Promise<FanOutPart | null> {
  const { database, announcer, lanes } = state;
  for (let passed = 0; ; passed += 1) {
    const [found] = await database.rows<PartRow>(nextSql, [passed]);
    if (found === undefined) return null;
    const [event, part, document, tenant, bodyBytes] = found;
    const deliveries = unpackPart(document);
    await lanes.ensure(deliveries.map(({ lane }) => lane));
    const rows = new DeliveryRows(state.processNumber, new Deltas());
    const isWritten = await database.transaction(async (transaction) => {
      const locked = await transaction.rows<PartRow>(lockSql, [event, part]);
      if (locked.length === 0) return false;
      const { nextDelivery } = await drawNumbers(transaction, new Map(), deliveries.length);
      const stored = { seq: event, tenant, bodyBytes };
      for (const delivery of deliveries)
        rows.add(delivery, nextDelivery(), stored, lanes.get(delivery.lane), false);
      await rows.insert(transaction);
      await transaction.rows("DELETE FROM posthorn.fan_out_parts WHERE event = $1 AND part = $2", [
        event,
        part,
      ]);
      await transaction.rows(cancelAgainSql, [plainWords(deliveries.map(({ lane }) => lane.webhookId))]);
      return true;
    });
    if (!isWritten) continue;
    announcer.announce(rows.lanesWithFree);
    return { deliveries };
  }
}
