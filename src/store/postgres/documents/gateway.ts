import type {
  AnswerClaim,
  AnswerCompletion,
  AnswerOutcome,
  AnswerStore,
  ReceivedRequest,
  RecentOutcome,
  RecentQuery,
  RequestPlace,
  RequestSearch,
} from "../../../ports/store/gateway.ts";
import type { SearchPage } from "../../../ports/store/search.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import { storable } from "../../column-values.ts";
import { holdCalls, type RequestLog } from "../../documents/gateway.ts";
import {
  type AnswerRow,
  answerOutcome,
  heldOf,
  indexedRowsSql,
  type RecentRow,
  type RequestRow,
  requestColumns,
  requestConditions,
  requestDocument,
  requestIndex,
  requestPage,
  requestSpan,
  toRecent,
  toRequest,
} from "../../gateway-rows.ts";
import type { Database, Runner, Transaction } from "../driver/database.ts";
import { numbers, plainWords, runCalls, texts } from "../driver/sql.ts";
import { Parameters } from "../lists/search-filter.ts";
import { type SeenWindow, type WalkedWindow, walkWindows } from "../lists/search-walk.ts";
import { searchBounds } from "../driver/server.ts";

type PlacedRow = readonly [id: string, ...RequestRow];

const rowsFirst = 500;

/** Searches the gateway's log in the same way as `DeliverySearches` searches deliveries, over the maintenance pool. */
class RequestSearches {
  readonly #maintenance: Database;

  constructor(maintenance: Database) {
    this.#maintenance = maintenance;
  }

  async page(search: RequestSearch): Promise<SearchPage<ReceivedRequest, RequestPlace>> {
    const page = await walkWindows<PlacedRow, string>(
      {
        ...search,
        span: requestSpan(search),
        isOldestFirst: false,
        rowsFirst: Math.max(rowsFirst, search.limit + 1),
      },
      (window) => this.#window(search, window),
    );
    const rows = page.rows.map(([, ...row]) => toRequest(row));
    return requestPage(rows, page.next, page.isCutShort);
  }

  /** Examines all rows in a window of one index, and reads the matching ones. */
  async #window(
    { filter }: RequestSearch,
    window: WalkedWindow<string>,
  ): Promise<SeenWindow<PlacedRow, string>> {
    const parameters = new Parameters();
    const add = (value: string | number): string =>
      parameters.add(typeof value === "string" ? storable(value) : value);
    const { rows: only, owner } = requestIndex(filter);
    const [above, below] = [`${add(window.span.above)}::text`, `${add(window.span.below)}::text`];
    const where: string[] = only === null ? [] : [indexedRowsSql[only]];
    if (owner === null) where.push(`id > ${above} AND id < ${below}`);
    else {
      // As with deliveries, only one index provides this order.
      const [place, is] = [`(${owner.column}, id)`, `${add(owner.id)}::text`];
      where.push(`${place} > (${is}, ${above}) AND ${place} < (${is}, ${below})`);
    }
    const order = owner === null ? "id DESC" : `${owner.column} DESC, id DESC`;
    const conditions = ["true", ...requestConditions(filter, add)].join(" AND ");
    const rows = await this.#maintenance.rows<
      readonly [looked: number, reached: string | null, ...PlacedRow]
    >(
      `WITH seen AS MATERIALIZED (
         SELECT id, tenant, source, status, outcome, cause, received_at, bookmark FROM posthorn.gateway_requests
         WHERE ${where.join(" AND ")} ORDER BY ${order} LIMIT ${add(window.rows)}),
       found AS MATERIALIZED (
         SELECT id FROM seen WHERE ${conditions} ORDER BY id DESC LIMIT ${add(window.wanted)})
       SELECT (SELECT count(*) FROM seen), (SELECT min(id) FROM seen), f.*
       FROM (SELECT) AS one LEFT JOIN (
         SELECT r.id, ${requestColumns("NULL::bytea")}
         FROM found JOIN posthorn.gateway_requests r ON r.id = found.id) f ON true
       ORDER BY f.id DESC`,
      parameters.values,
      searchBounds,
    );
    const [looked = 0, reached = null] = rows[0] ?? [];
    const matches = rows
      .map(([, , ...row]): PlacedRow => row)
      .filter(([id]) => (id as string | null) !== null);
    return { looked, reached, matches };
  }
}

const recentSql = `SELECT asked.id, outcome, count(*)::int, max(received_at)
  FROM unnest($1::text[]) AS asked(id) CROSS JOIN LATERAL (SELECT outcome, received_at FROM posthorn.gateway_requests
    WHERE source = asked.id ORDER BY gateway_requests.id DESC LIMIT $2) AS newest
  GROUP BY asked.id, outcome`;

/** The gateway's log. Interactive reads use the maintenance pool. */
export class PostgresRequestLog implements RequestLog {
  readonly answers: GatewayAnswers;
  readonly #database: Database;
  readonly #maintenance: Database;
  readonly #searches: RequestSearches;

  constructor(database: Database, maintenance: Database) {
    this.#database = database;
    this.#maintenance = maintenance;
    this.#searches = new RequestSearches(maintenance);
    this.answers = new GatewayAnswers(database, maintenance);
  }

  async addRequests(requests: readonly ReceivedRequest[]): Promise<void> {
    await this.#database.transaction((transaction) => writeRequests(transaction, requests, false));
  }

  searchRequests(search: RequestSearch): Promise<SearchPage<ReceivedRequest, RequestPlace>> {
    return this.#searches.page(search);
  }

  async recentOutcomes({ sourceIds, limit }: RecentQuery): Promise<readonly RecentOutcome[]> {
    return (await this.#maintenance.rows<RecentRow>(recentSql, [plainWords(sourceIds), limit])).map(toRecent);
  }

  async forget(below: string, limit: number): Promise<number> {
    const removed = await this.#maintenance.rows(
      `DELETE FROM posthorn.gateway_requests WHERE id IN (SELECT id FROM posthorn.gateway_requests
       WHERE id < $1 AND bookmark IS NULL ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1`,
      [below, limit],
    );
    return removed.length;
  }
}

/** An expired claim may be taken over. */
const claimSql = `INSERT INTO posthorn.gateway_answers AS known VALUES ($1, $2, $3, $4, NULL)
  ON CONFLICT (key) DO UPDATE SET fingerprint = $2, claim_token = $3, expires_at = $4, document = NULL
  WHERE known.expires_at <= $5 RETURNING key`;

/** Claims and answers are rows, so that other processes can look up the same keys. */
export class GatewayAnswers implements AnswerStore {
  readonly #database: Database;
  readonly #maintenance: Database;

  constructor(database: Database, maintenance: Database) {
    this.#database = database;
    this.#maintenance = maintenance;
  }

  async claim({ key, fingerprint, token, now, expiresAt }: AnswerClaim): Promise<AnswerOutcome> {
    const claimed = await this.#database.rows(claimSql, [key, fingerprint, token, expiresAt, now]);
    if (claimed.length > 0) return { kind: "claimed" };
    const [row] = await this.#database.rows<AnswerRow>(
      "SELECT fingerprint, expires_at, document FROM posthorn.gateway_answers WHERE key = $1",
      [key],
    );
    // The claim was released in between; the next call can claim it.
    return row === undefined ? { kind: "running", expiresAt: now } : answerOutcome(row, fingerprint);
  }

  async finish(completion: AnswerCompletion): Promise<boolean> {
    return (await keepAnswers(this.#database, [completion])) > 0;
  }

  async release(key: string, token: string): Promise<void> {
    const sql = "DELETE FROM posthorn.gateway_answers WHERE key = $1 AND claim_token = $2";
    await this.#database.rows(sql, [key, token]);
  }

  async purge(now: number, limit: number): Promise<StepResult> {
    const rows = await this.#maintenance.rows(
      `DELETE FROM posthorn.gateway_answers WHERE key IN (SELECT key FROM posthorn.gateway_answers
       WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING key`,
      [now, limit],
    );
    return { changed: rows.length, more: rows.length >= limit };
  }
}

/** Stores answers. Returns the number of answers whose claim was still current. */
export async function keepAnswers(runner: Runner, completions: readonly AnswerCompletion[]): Promise<number> {
  if (completions.length === 0) return 0;
  const rows = await runner.rows(
    `UPDATE posthorn.gateway_answers a SET document = g.result, claim_token = NULL, expires_at = g.expires_at
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS g (key, token, expires_at, result)
     WHERE a.key = g.key AND a.claim_token = g.token RETURNING a.key`,
    [
      texts(completions.map(({ key }) => key)),
      texts(completions.map(({ token }) => token)),
      numbers(completions.map(({ expiresAt }) => expiresAt)),
      texts(completions.map(({ result }) => result)),
    ],
  );
  return rows.length;
}

/** Bodies are rare, and only in rows that are not written by a commit, so they are sent as hexadecimal text. */
const insertSql = `INSERT INTO posthorn.gateway_requests AS known
  SELECT id, tenant, source, received_at, status, outcome, cause, bookmark, document, decode(body, 'hex')
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::int[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[])
    AS r (id, tenant, source, received_at, status, outcome, cause, bookmark, document, body)
  ORDER BY id`;

const keptSql = `${insertSql} ON CONFLICT DO NOTHING`;
const replacedSql = `${insertSql} ON CONFLICT (id) DO UPDATE SET status = excluded.status,
  outcome = excluded.outcome, cause = excluded.cause, document = excluded.document`;

/** Rows of the gateway's log and of held messages. An existing row is kept, or replaced except for its body. */
export async function writeRequests(
  transaction: Transaction,
  requests: readonly ReceivedRequest[],
  replaces: boolean,
): Promise<void> {
  if (requests.length === 0) return;
  await transaction.rows(replaces ? replacedSql : keptSql, [
    texts(requests.map(({ id }) => id)),
    texts(requests.map(({ tenantId }) => tenantId)),
    texts(requests.map(({ sourceId }) => sourceId)),
    numbers(requests.map(({ receivedAt }) => receivedAt)),
    numbers(requests.map(({ status }) => status)),
    texts(requests.map(({ outcome }) => outcome)),
    texts(requests.map(({ cause }) => cause)),
    texts(requests.map(({ bookmark }) => bookmark)),
    texts(requests.map(requestDocument)),
    texts(requests.map(({ body }) => (body === null ? null : Buffer.from(body).toString("hex")))),
  ]);
  await runCalls(transaction, holdCalls(requests.flatMap(heldOf)));
}
