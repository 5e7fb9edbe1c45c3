import { type DeliveryProgress, type GivenUpState, givenUpStates } from "../../../domain/delivery.ts";
import type { Settlement, SettlementResult, WebhookRuntimeState } from "../../../ports/store/deliveries.ts";
import { attemptNotesText } from "../../attempt-notes.ts";
import {
  categoryCodes,
  decodeState,
  exhausted,
  outcomeCodes,
  retriedFrom,
  stateCodes,
  tierSpan,
  waitingMax,
} from "../../column-values.ts";
import {
  type Counting,
  type JournalPart,
  statisticsSteps,
  statisticsValues,
  statisticsValuesCount,
} from "../documents/statistics-sql.ts";
import { historyCalls } from "../../documents/webhooks.ts";
import { booleans, decimals, numbers, plainWords, runCalls, texts } from "../driver/sql.ts";
import type { Runner, Value } from "../driver/database.ts";
import { plannedEachTime } from "../driver/named-statements.ts";
import { addToCounters, deadLetterKind, hasFree, hasLeased } from "./lane-counters.ts";

/**
 * The batch, restricted to settlements whose position still belongs to the leased delivery. After a restore, a position
 * may belong to a different delivery. The CASE is for the planner, which assumes that the CASE keeps half of the rows.
 * For a join by position and id, the planner would expect a single row, and compare each row of the batch with all
 * others.
 */
const givenSql = `given AS (
    SELECT * FROM unnest($1::int[], $2::bigint[], $3::int[], $4::smallint[], $5::int[], $6::bigint[], $7::bigint[],
      $8::text[], $9::bigint[], $10::smallint[], $11::int[], $26::uuid[])
    AS g (at, ref, lease_token, state, attempt_count, due_at, first_attempt_at, reason, settled_at, category, number,
      id)
    WHERE CASE WHEN (SELECT d.id FROM posthorn.deliveries d WHERE d.seq = g.ref) = g.id THEN true END)`;

const givenUp = givenUpStates.map((state) => stateCodes.encode[state]).join();

/** Inserts the attempts of the written settlements (`done`). */
const attemptedSql = `attempted AS (
    INSERT INTO posthorn.attempts (delivery, webhook, id, number, outcome, state_unknown, category, status_code,
      response_sample, error_message, duration_ms, scheduled_at, executed_at, next_retry_at, notes)
    SELECT done.seq, done.webhook, a.id, a.number, a.outcome, a.state_unknown, a.category, a.status_code,
      a.response_sample, a.error_message, a.duration_ms, a.scheduled_at, a.executed_at, a.next_retry_at,
      a.notes
    FROM done JOIN unnest($12::int[], $13::uuid[], $14::int[], $15::smallint[], $16::boolean[], $17::smallint[],
      $18::int[], $19::text[], $20::text[], $21::double precision[], $22::bigint[], $23::bigint[], $24::bigint[],
      $25::text[])
    AS a (at, id, number, outcome, state_unknown, category, status_code, response_sample, error_message, duration_ms,
      scheduled_at, executed_at, next_retry_at, notes) ON a.at = done.at)`;

/**
 * Ends or reschedules every delivery whose lease token is current, with its attempt, its dead letter and the counters.
 * A later success keeps the category of the last failure. Returns the batch index of each settled row. Also returns its
 * lane if other processes may continue there: the lane is ordered, has unleased deliveries, and this process holds no
 * other lease in it.
 *
 * A single statement, because settlements are the most frequent writes. The steps read from each other, which orders
 * them. `ended` and `kept` decide by the lease token and lock rows of `queue`. Only the rows that they return are
 * changed in `deliveries` (`done`), and only those get an attempt. Requeues, expiry and cancelling lock in the same
 * order, `queue` first. Rows are found by their keys; `unnest` provides the batch. For small batches the keys are
 * repeated: otherwise a cached plan created while the tables were nearly empty would read an index from end to end when
 * they are full. For large batches that plan would compare each row with all others.
 *
 * The lookups at the end see the queue as it was before the statement, hence `<> s.delivery`.
 */
const settleSqlWith = (keyOf: (column: string) => string, more = ""): string => `WITH ${givenSql},
  ended AS (
    DELETE FROM posthorn.queue q USING given g
    WHERE ${keyOf("q.delivery")}q.delivery = g.ref AND q.lease_token = g.lease_token AND g.state > ${waitingMax}
    RETURNING g.at, q.delivery, q.lane, q.ordered, q.priority),
  kept AS (
    UPDATE posthorn.queue q SET owner = NULL, lease_until = NULL, lease_token = q.lease_token + 1, attempts =
      g.attempt_count,
      queue_position = CASE WHEN q.ordered THEN q.queue_position
        ELSE q.priority * ${tierSpan} + least(greatest(g.due_at, 0), ${tierSpan - 1}) END
    FROM given g
    WHERE ${keyOf("q.delivery")}q.delivery = g.ref AND q.lease_token = g.lease_token AND g.state <= ${waitingMax}
    RETURNING g.at, q.delivery, q.lane, q.ordered, q.priority),
  settled AS (SELECT * FROM ended UNION ALL SELECT * FROM kept),
  done AS (
    UPDATE posthorn.deliveries d SET state = g.state, attempt_count = g.attempt_count, due_at = g.due_at,
      first_attempt_at = g.first_attempt_at, reason = g.reason, category = coalesce(g.category, d.category),
      completed_at = CASE WHEN g.state > ${waitingMax} THEN g.settled_at END,
      attempt_last = coalesce(g.number, d.attempt_last),
      lease_token_last = CASE WHEN g.state IN (${givenUp}) THEN g.lease_token ELSE d.lease_token_last END
    FROM settled s JOIN given g ON g.at = s.at
    WHERE ${keyOf("d.seq")}d.seq = s.delivery AND (g.number IS NULL OR g.number > d.attempt_last
      OR posthorn.refuse('attempt ' || g.number || ' of delivery ' || d.id || ' is stored already'))
    RETURNING g.at, d.seq, d.tenant, d.webhook, d.state),
  ${attemptedSql},
  dead AS (
    INSERT INTO posthorn.dead_letters (delivery, tenant) SELECT seq, tenant FROM done WHERE state = ${exhausted}),
  counted AS (${addToCounters(
    `SELECT priority, 0, -1 FROM ended
     UNION ALL SELECT ${deadLetterKind}, tenant, 1 FROM done WHERE state = ${exhausted}`,
  )})${more}
  SELECT s.at, CASE WHEN s.ordered
    AND ${hasFree("s.lane")} AND NOT ${hasLeased("s.lane", "q.owner = $27 AND q.delivery <> s.delivery")}
    THEN s.lane END
  FROM settled s`;

/**
 * Also writes the statistics of the written settlements. The last parameter contains the batch index of each fact, in
 * order.
 */
const settledFacts = `,
  ${countedSteps(28, "settled")}`;
const keyed = (column: string): string => `${column} = ANY ($2) AND `;
const settleFewSql = { plain: settleSqlWith(keyed), counting: settleSqlWith(keyed, settledFacts) };
const settleManySql = {
  plain: plannedEachTime + settleSqlWith(() => ""),
  counting: plannedEachTime + settleSqlWith(() => "", settledFacts),
};
const fewMax = 32;

function countedSteps(first: number, from: string): string {
  const written = `(SELECT CASE WHEN count(w.at) < count(*)
      THEN coalesce(array_agg(f.place - 1) FILTER (WHERE w.at IS NOT NULL), '{}') END
    FROM unnest($${first + statisticsValuesCount}::int[]) WITH ORDINALITY AS f (at, place) LEFT JOIN ${from} w ON w.at = f.at)`;
  return statisticsSteps(first, written, `EXISTS (SELECT FROM ${from})`);
}

/**
 * The columns of a lease that are kept when another process ends the delivery. `late_lease_token` is for the report of
 * the lease owner; null if the delivery was unleased. `lease_token` is the value above which a retry continues.
 */
export const endedUnder =
  "CASE WHEN q.owner IS NOT NULL THEN q.lease_token END AS late_lease_token, q.lease_token AS lease_token";

const isAccepted = `g.state = ${stateCodes.encode.success}`;

/**
 * Settles deliveries that another process ended, which have left the queue. A failure leaves the ending unchanged; a
 * success settles the dead letter, unless a retry has closed it.
 */
const lateSqlWith = (more = ""): string => `${plannedEachTime}WITH ${givenSql},
  done AS (
    UPDATE posthorn.deliveries d SET state = CASE WHEN ${isAccepted} THEN g.state ELSE d.state END,
      attempt_count = g.attempt_count, first_attempt_at = g.first_attempt_at,
      reason = CASE WHEN ${isAccepted} THEN g.reason ELSE d.reason END,
      category = coalesce(g.category, d.category),
      completed_at = CASE WHEN ${isAccepted} THEN g.settled_at ELSE d.completed_at END,
      attempt_last = coalesce(g.number, d.attempt_last), late_lease_token = NULL
    FROM given g WHERE d.seq = g.ref AND d.late_lease_token = g.lease_token
    RETURNING g.at, d.seq, d.webhook, d.state),
  ${attemptedSql},
  closed AS (
    DELETE FROM posthorn.dead_letters l USING done WHERE l.delivery = done.seq AND done.state <> ${exhausted}
    RETURNING l.tenant),
  counted AS (${addToCounters(`SELECT ${deadLetterKind}, tenant, -1 FROM closed`)})${more}
  SELECT at FROM done`;

const lateSql = {
  plain: lateSqlWith(),
  counting: lateSqlWith(`,
  ${countedSteps(27, "done")}`),
};

type EndedRow = [
  at: number,
  state: number,
  attemptCount: number,
  createdAt: number,
  firstAttemptAt: number | null,
  dueAt: number,
  reason: string | null,
  retriedAt: number | null,
  retriedAttempts: number | null,
];

const written: SettlementResult = { kind: "written" };
const lost: SettlementResult = { kind: "lost" };

/** The results in the order of the batch, and the lanes in which other processes may continue. */
export interface SettleResult {
  readonly settled: readonly SettlementResult[];
  readonly freeLanes: readonly number[];
  /** Indexes of settlements that an earlier commit, whose response was lost, had already written. */
  readonly writtenBefore: ReadonlySet<number>;
}

export interface SettleBatch {
  readonly settlements: readonly Settlement[];
  readonly processNumber: number;
  /** Whether an earlier commit of this settlement had an unknown outcome, because the connection was lost. */
  readonly isInDoubt: (settlement: Settlement) => boolean;
  /** Null if nothing is counted. */
  readonly counting: Counting | null;
}

export async function writeSettlements(runner: Runner, batch: SettleBatch): Promise<SettleResult> {
  const settled: SettlementResult[] = batch.settlements.map(() => lost);
  const given = firstOfEachLease(batch.settlements);
  if (given.length === 0) return { settled, freeLanes: [], writtenBefore: new Set() };
  const { counting } = batch;
  const sql = given.length <= fewMax ? settleFewSql : settleManySql;
  const rows = await runner.rows<[at: number, lane: number | null]>(
    counting === null ? sql.plain : sql.counting,
    [
      ...progressColumns(given),
      ...attemptColumns(given),
      plainWords(given.map(({ lease }) => lease.deliveryId)),
      batch.processNumber,
      ...countedValues(given, counting, "settlements"),
    ],
  );
  for (const [at] of rows) settled[at] = written;
  const refused = (): readonly Placed[] => given.filter(({ at }) => settled[at] === lost);
  const doubtful = refused().filter(({ settlement }) => batch.isInDoubt(settlement));
  const before = new Set(await writtenBefore(runner, doubtful));
  for (const at of before) settled[at] = written;
  const late = refused().filter((each) => each.late === true);
  for (const at of await writeLate(runner, late, counting)) settled[at] = written;
  const others = refused().filter((each) => each.late !== true);
  for (const [at, progress] of await endedMeanwhile(runner, others))
    settled[at] = { kind: "ended", progress };
  const freeLanes = rows.flatMap(([, lane]) => (lane === null ? [] : [lane]));
  return { settled, freeLanes, writtenBefore: before };
}

/**
 * Whether `writeSettlements` writes the buckets of the batch. It does so only together with a settlement that may hold
 * its lease.
 */
export function takesRows({ settlements, counting }: SettleBatch): boolean {
  return counting !== null && firstOfEachLease(settlements).length > 0;
}

/**
 * Writes the reports of lease owners whose delivery was ended by another process. Each lease owner reports only once.
 */
async function writeLate(
  runner: Runner,
  given: readonly Placed[],
  counting: Counting | null,
): Promise<readonly number[]> {
  if (given.length === 0) return [];
  const rows = await runner.rows<[at: number]>(counting === null ? lateSql.plain : lateSql.counting, [
    ...progressColumns(given),
    ...attemptColumns(given),
    plainWords(given.map(({ lease }) => lease.deliveryId)),
    ...countedValues(given, counting, "lateSettlements"),
  ]);
  return rows.map(([at]) => at);
}

/** The facts of these settlements, and the batch index of each. Buckets are written with the first statement. */
function countedValues(
  given: readonly Placed[],
  counting: Counting | null,
  part: JournalPart,
): readonly Value[] {
  if (counting === null) return [];
  const { statistics, strings } = counting;
  const counted = given.filter(({ at }) => (statistics.settled[at] ?? null) !== null);
  const facts = counted.flatMap(({ at }) => statistics.settled[at] ?? []);
  const carriesRows = part === "settlements";
  return [
    ...statisticsValues(statistics, { strings, part, facts, carriesRows }),
    numbers(counted.map(({ at }) => at)),
  ];
}

/** Which of these deliveries were ended by a process other than their lease owner, with their indexes. */
async function endedMeanwhile(
  runner: Runner,
  given: readonly Placed[],
): Promise<readonly (readonly [at: number, progress: DeliveryProgress<GivenUpState>])[]> {
  if (given.length === 0) return [];
  const rows = await runner.rows<EndedRow>(
    `SELECT g.at, d.state, d.attempt_count, d.created_at, d.first_attempt_at, d.due_at, d.reason,
       d.retried_at, d.retried_attempts
     FROM unnest($1::int[], $2::bigint[], $3::int[], $4::uuid[]) AS g (at, ref, lease_token, id)
     JOIN posthorn.deliveries d ON d.seq = g.ref AND d.id = g.id AND d.late_lease_token = g.lease_token`,
    [
      numbers(given.map(({ at }) => at)),
      numbers(given.map(({ lease }) => lease.ref)),
      numbers(given.map(({ lease }) => Math.min(lease.leaseToken, leaseTokenMax))),
      plainWords(given.map(({ lease }) => lease.deliveryId)),
    ],
  );
  return rows.map(([at, code, attemptCount, createdAt, firstAttemptAt, dueAt, reason, ...last]) => {
    const state = decodeState(givenUpStates, code);
    const retried = retriedFrom(...last);
    return [at, { state, attemptCount, createdAt, firstAttemptAt, dueAt, reason, retried }];
  });
}

/**
 * Writes the state of webhooks; of two states of one webhook, the later one is kept. Former owners write nothing,
 * because the owner epoch has to be the current one and the webhook must have an owner. Locks in the common order, like
 * releasing.
 */
export async function writeWebhookStates(
  runner: Runner,
  given: readonly WebhookRuntimeState[],
): Promise<void> {
  if (given.length === 0) return;
  const states = [...new Map(given.map((state) => [state.webhookId, state])).values()];
  const rows = await runner.rows<[webhook: string]>(
    `INSERT INTO posthorn.webhook_states (webhook, paused_until, pause_reason, last_success_at, circuit, health)
     SELECT webhook, paused_until, pause_reason, last_success_at, circuit, health
     FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[])
       AS g (webhook, paused_until, pause_reason, last_success_at, circuit, health, owner_epoch)
     WHERE g.owner_epoch IS NULL OR EXISTS (
       SELECT FROM posthorn.strings w JOIN posthorn.ownership o ON o.webhook = w.ref
       WHERE w.string = g.webhook AND o.owner_epoch = g.owner_epoch AND o.worker IS NOT NULL)
     ORDER BY 1
     ON CONFLICT (webhook) DO UPDATE SET paused_until = excluded.paused_until, pause_reason = excluded.pause_reason,
       last_success_at = excluded.last_success_at, circuit = excluded.circuit, health = excluded.health RETURNING webhook`,
    [
      texts(states.map(({ webhookId }) => webhookId)),
      numbers(states.map(({ pausedUntil }) => pausedUntil)),
      texts(states.map(({ pauseReason }) => pauseReason)),
      numbers(states.map(({ lastSuccessAt }) => lastSuccessAt)),
      texts(states.map(({ circuit }) => circuit)),
      texts(states.map(({ health }) => health)),
      numbers(states.map(({ ownerEpoch }) => ownerEpoch ?? null)),
    ],
  );
  const taken = new Set(rows.map(([webhook]) => webhook));
  const moves = states.flatMap(({ webhookId, moves: own = [] }) =>
    own.map((entry) => ({ webhookId, entry })),
  );
  const takenMoves = moves.filter(({ webhookId }) => taken.has(webhookId));
  await runCalls(runner, historyCalls(takenMoves, true));
}

/**
 * Which of these settlements were already written by the commit whose response was lost. The id of a delivery attempt
 * is never reused.
 */
async function writtenBefore(runner: Runner, doubtful: readonly Placed[]): Promise<readonly number[]> {
  if (doubtful.length === 0) return [];
  const rows = await runner.rows<[at: number]>(
    `SELECT g.at FROM unnest($1::int[], $2::bigint[], $3::smallint[], $4::bigint[], $5::int[], $6::uuid[], $7::uuid[])
       AS g (at, ref, state, settled_at, number, id, delivery)
     WHERE CASE WHEN g.id IS NULL
       THEN EXISTS (SELECT FROM posthorn.deliveries d
         WHERE d.seq = g.ref AND d.id = g.delivery AND d.state = g.state AND d.completed_at = g.settled_at)
       ELSE EXISTS (SELECT FROM posthorn.attempts a
         WHERE a.delivery = g.ref AND a.number = g.number AND a.id = g.id) END`,
    [
      numbers(doubtful.map(({ at }) => at)),
      numbers(doubtful.map(({ lease }) => lease.ref)),
      numbers(doubtful.map(({ progress }) => stateCodes.encode[progress.state])),
      numbers(doubtful.map(({ settledAt }) => settledAt)),
      numbers(doubtful.map(({ attempt }) => attempt?.number ?? null)),
      plainWords(doubtful.map(({ attempt }) => attempt?.id ?? null)),
      plainWords(doubtful.map(({ lease }) => lease.deliveryId)),
    ],
  );
  return rows.map(([at]) => at);
}

interface Placed extends Settlement {
  readonly at: number;
  readonly settlement: Settlement;
}

/**
 * The first settlement ends its lease, so a second one with the same lease is rejected as lost. Lease token 0 means
 * that there is no lease.
 */
function firstOfEachLease(settlements: readonly Settlement[]): readonly Placed[] {
  const first = new Map<string, Placed>();
  for (const [at, settlement] of settlements.entries()) {
    const { ref, leaseToken } = settlement.lease;
    const name = `${ref} ${leaseToken}`;
    if (leaseToken > 0 && !first.has(name)) first.set(name, { ...settlement, at, settlement });
  }
  return [...first.values()].toSorted((left, right) => left.lease.ref - right.lease.ref);
}

function progressColumns(given: readonly Placed[]): readonly string[] {
  return [
    numbers(given.map(({ at }) => at)),
    numbers(given.map(({ lease }) => lease.ref)),
    numbers(given.map(({ lease }) => Math.min(lease.leaseToken, leaseTokenMax))),
    numbers(given.map(({ progress }) => stateCodes.encode[progress.state])),
    numbers(given.map(({ progress }) => progress.attemptCount)),
    numbers(given.map(({ progress }) => progress.dueAt)),
    numbers(given.map(({ progress }) => progress.firstAttemptAt)),
    texts(given.map(({ progress }) => progress.reason)),
    numbers(given.map(({ settledAt }) => settledAt)),
    numbers(given.map(({ attempt }) => categoryCode(attempt?.category ?? null))),
    numbers(given.map(({ attempt }) => attempt?.number ?? null)),
  ];
}

function attemptColumns(given: readonly Placed[]): readonly string[] {
  const made = given.flatMap(({ at, attempt }) => (attempt === null ? [] : [{ at, ...attempt }]));
  return [
    numbers(made.map(({ at }) => at)),
    plainWords(made.map(({ id }) => id)),
    numbers(made.map(({ number }) => number)),
    numbers(made.map(({ outcome }) => outcomeCodes.encode[outcome])),
    booleans(made.map(({ receiverStateUnknown }) => receiverStateUnknown)),
    numbers(made.map(({ category }) => categoryCode(category))),
    numbers(made.map(({ statusCode }) => statusCode)),
    texts(made.map(({ responseSample }) => responseSample)),
    texts(made.map(({ errorMessage }) => errorMessage)),
    decimals(made.map(({ durationMs }) => durationMs)),
    numbers(made.map(({ scheduledAt }) => scheduledAt)),
    numbers(made.map(({ executedAt }) => executedAt)),
    numbers(made.map(({ nextRetryAt }) => nextRetryAt)),
    texts(made.map(({ notes }) => attemptNotesText(notes))),
  ];
}

/** The largest value of the column; no lease has it as token. */
const leaseTokenMax = 2 ** 31 - 1;

function categoryCode(category: keyof typeof categoryCodes.encode | null): number | null {
  return category === null ? null : categoryCodes.encode[category];
}
