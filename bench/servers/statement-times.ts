import type { PostgresServer } from "../../test/services/postgres-server.fixture.ts";

/** One kind of statement, as `pg_stat_statements` counts it. */
export interface StatementTime {
  /** Its first words, on one line. */
  readonly text: string;
  readonly calls: number;
  readonly plans: number;
  readonly rows: number;
  readonly planMs: number;
  readonly execMs: number;
}

/** What PostgreSQL did in a stretch, beside its statements. */
export interface DatabaseWork {
  readonly statements: readonly StatementTime[];
  readonly transactions: number;
  /** Of the write-ahead log. */
  readonly flushes: number;
  readonly walBytes: number;
  readonly rowsInserted: number;
  readonly rowsUpdated: number;
  readonly rowsDeleted: number;
}

/** Times of statements by kind. The server must have been started with `pg_stat_statements`. */
export class StatementTimes {
  readonly #server: PostgresServer;

  private constructor(server: PostgresServer) {
    this.#server = server;
  }

  /** Counts nothing before `start`. */
  static async of(server: PostgresServer): Promise<StatementTimes> {
    const times = new StatementTimes(server);
    await server.query("CREATE EXTENSION pg_stat_statements");
    await times.#track("none");
    return times;
  }

  /** From now on statements are counted, which costs a little. */
  async start(): Promise<void> {
    await this.#track("all");
    await this.#server.query(
      "SELECT pg_stat_statements_reset(), pg_stat_reset_shared('wal'), pg_stat_reset()",
    );
  }

  async stop(): Promise<DatabaseWork> {
    await this.#track("none");
    const statements = await this.#server.query(
      `SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), ${textLength}) AS text, sum(calls)::int AS calls,
         sum(plans)::int AS plans, sum(rows)::int AS rows, sum(total_plan_time) AS "planMs", sum(total_exec_time) AS "execMs"
       FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_%' AND query NOT LIKE 'ALTER SYSTEM%'
       GROUP BY 1 ORDER BY sum(total_plan_time + total_exec_time) DESC`,
    );
    const [work = {}] = await this.#server.query(
      `SELECT xact_commit::int AS transactions, wal_sync::int AS flushes, wal_bytes::float AS "walBytes",
         t.* FROM pg_stat_database, pg_stat_wal, (SELECT sum(n_tup_ins)::int AS "rowsInserted",
           sum(n_tup_upd)::int AS "rowsUpdated", sum(n_tup_del)::int AS "rowsDeleted" FROM pg_stat_user_tables) AS t
       WHERE datname = current_database()`,
    );
    return { ...(work as unknown as Omit<DatabaseWork, "statements">), statements: statements as never };
  }

  async #track(what: "all" | "none"): Promise<void> {
    await this.#server.query(`ALTER SYSTEM SET pg_stat_statements.track = '${what}'`);
    await this.#server.query("SELECT pg_reload_conf()");
  }
}

const textLength = 60;
