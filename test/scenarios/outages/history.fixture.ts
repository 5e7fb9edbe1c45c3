import { outcomeCodes, stateCodes } from "../../../src/store/column-values.ts";
import type { PostgresServer } from "../../services/postgres-server.fixture.ts";
import type { Accepted } from "./publisher.fixture.ts";
import type { Arrival, OutageReceiver } from "./receiver.fixture.ts";

/** All records at the end of the test. */
export interface Evidence {
  readonly accepted: readonly Accepted[];
  readonly receiver: OutageReceiver;
  readonly postgres: Pick<PostgresServer, "query">;
  /** Webhook names by webhook ID. */
  readonly webhooks: ReadonlyMap<string, string>;
}

/** Compares the outcome with the guarantees and returns all differences. */
export async function breaches(evidence: Evidence): Promise<readonly string[]> {
  return [
    ...undelivered(evidence),
    ...(await historyBreaches(evidence)),
    ...(await leftBehind(evidence.postgres)),
    ...orderBreaches(evidence),
  ];
}

function undelivered({ accepted, receiver }: Evidence): readonly string[] {
  return accepted
    .filter(({ eventId }) => !receiver.accepted.has(eventId))
    .map(({ eventId, key }) => `event ${eventId} (${key}) was accepted and never delivered`);
}

type DeliveryRow = {
  readonly id: string;
  readonly key: string;
  readonly webhook: string | null;
  readonly state: number | null;
  readonly attempt_count: number | null;
  readonly numbers: readonly number[] | null;
  readonly outcomes: readonly number[] | null;
};

const deliveriesSql = `SELECT e.id::text, e.idempotency_key AS key, w.string AS webhook, d.state, d.attempt_count,
    a.numbers, a.outcomes
  FROM posthorn.events e LEFT JOIN posthorn.deliveries d ON d.event = e.seq
  LEFT JOIN posthorn.strings w ON w.ref = d.webhook
  LEFT JOIN (SELECT delivery, array_agg(number ORDER BY number) AS numbers,
      array_agg(outcome::int ORDER BY number) AS outcomes FROM posthorn.attempts GROUP BY delivery) a
    ON a.delivery = d.seq`;

/**
 * Checks that the history contains each accepted event once, with one delivery whose last attempt is the only success.
 */
async function historyBreaches({
  accepted,
  postgres,
  receiver,
  webhooks,
}: Evidence): Promise<readonly string[]> {
  const rows = (await postgres.query(deliveriesSql)) as unknown as readonly DeliveryRow[];
  const byKey = Map.groupBy(rows, ({ key }) => key);
  const requests = requestsByEvent(receiver);
  const problems: string[] = [];
  for (const { key, eventId, address } of accepted) {
    const found = byKey.get(key) ?? [];
    byKey.delete(key);
    const [row] = found;
    if (row === undefined || found.length > 1) {
      problems.push(`the history has ${found.length} deliveries of event ${eventId} (${key})`);
      continue;
    }
    const webhook = row.webhook === null ? "no webhook" : webhooks.get(row.webhook);
    if (row.id !== eventId) problems.push(`${key} was answered as ${eventId} and stored as ${row.id}`);
    if (webhook !== address.webhook)
      problems.push(`${key} was for ${address.webhook} and went to ${webhook}`);
    const wrong = attemptBreach(row, requests.get(eventId) ?? 0);
    if (wrong !== null) problems.push(`${key}: ${wrong}: ${JSON.stringify(row)}`);
  }
  for (const [key, { length }] of byKey)
    problems.push(`${key} is in the history ${length} times, never accepted`);
  return problems;
}

function attemptBreach(row: DeliveryRow, requestCount: number): string | null {
  const numbers = row.numbers ?? [];
  const outcomes = row.outcomes ?? [];
  if (row.state !== stateCodes.encode.success) return "it did not succeed";
  if (numbers.some((number, index) => number !== index + 1)) return "its attempts have gaps or duplicates";
  if (numbers.length !== row.attempt_count) return "its attempts were miscounted";
  const successes = outcomes.filter((outcome) => outcome === outcomeCodes.encode.accepted).length;
  if (successes !== 1 || outcomes.at(-1) !== outcomeCodes.encode.accepted)
    return "it did not end with its one success";
  return requestCount < numbers.length ? `there were only ${requestCount} requests` : null;
}

function requestsByEvent({ arrivals }: OutageReceiver): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const list of arrivals.values())
    for (const { eventId } of list) counts.set(eventId, (counts.get(eventId) ?? 0) + 1);
  return counts;
}

async function leftBehind(postgres: Evidence["postgres"]): Promise<readonly string[]> {
  const [row] = await postgres.query(`SELECT
    (SELECT count(*) FROM posthorn.queue)::int AS waiting,
    (SELECT count(*) FROM posthorn.dead_letters)::int AS dead,
    (SELECT count(*) FROM (SELECT kind FROM posthorn.counters GROUP BY kind HAVING sum(value) <> 0) c)::int AS counters`);
  const { waiting = 0, dead = 0, counters = 0 } = row as Record<string, number>;
  return [
    ...(waiting === 0 ? [] : [`${waiting} deliveries still wait`]),
    ...(dead === 0 ? [] : [`${dead} dead letters`]),
    ...(counters === 0 ? [] : ["the counters of what waits are not zero"]),
  ];
}

export interface Waiting {
  readonly count: number;
  /** Details of the first deliveries: order, owner of the webhook, and remaining lease time. */
  readonly first: readonly Record<string, unknown>[];
}

/** Returns the number of waiting deliveries and details of the first ones. */
export async function whatWaits(postgres: Evidence["postgres"]): Promise<Waiting> {
  const rows =
    await postgres.query(`SELECT q.delivery, q.lane, q.ordered, q.owner, q.lease_token, q.attempts, o.worker,
      q.lease_until - now_ms AS leased_for_ms, d.due_at - now_ms AS due_in_ms, count(*) OVER ()::int AS count
    FROM posthorn.queue q JOIN posthorn.deliveries d ON d.seq = q.delivery
    LEFT JOIN posthorn.ownership o ON o.webhook = d.webhook
    CROSS JOIN (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms) AS clock
    ORDER BY q.delivery LIMIT 3`);
  return { count: Number(rows[0]?.["count"] ?? 0), first: rows };
}

/**
 * In an ordered lane, an event may arrive for the first time only after the previous event was accepted. Requests for
 * earlier events may be repeated.
 */
function orderBreaches({ accepted, receiver }: Evidence): readonly string[] {
  const ordered = accepted.filter(({ address }) => address.orderedLane !== null);
  const problems: string[] = [];
  for (const [lane, events] of Map.groupBy(ordered, ({ address }) => address.orderedLane)) {
    const line = events.toSorted((a, b) => a.sequenceNumber - b.sequenceNumber).map(({ eventId }) => eventId);
    const webhook = events[0]?.address.webhook ?? "";
    const problem = overtaking(line, receiver.arrivals.get(webhook) ?? []);
    if (problem !== null) problems.push(`${lane}: ${problem}`);
  }
  return problems;
}

function overtaking(line: readonly string[], arrivals: readonly Arrival[]): string | null {
  const places = new Map(line.map((eventId, place) => [eventId, place]));
  /** Number of leading events in the lane that have been accepted. */
  let done = 0;
  for (const { eventId, accepted } of arrivals) {
    const place = places.get(eventId);
    if (place === undefined) continue;
    if (place > done) return `event ${eventId}, number ${place} in line, came when ${done} had been accepted`;
    if (place === done && accepted) done += 1;
  }
  return null;
}

/** Number of requests that succeeded although their event had already succeeded. */
export function acceptedTwice({ accepted }: OutageReceiver): number {
  let count = 0;
  for (const times of accepted.values()) count += times - 1;
  return count;
}
