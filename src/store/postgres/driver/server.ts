import type pg from "pg";
import { codeOf, messageOf } from "../../../domain/thrown.ts";
import type { Runner } from "./database.ts";
import { DatabaseSetupError, DifferentMasterKeyError, StandbyError } from "./errors.ts";

/**
 * One run of a database server, from its start to its end. After a failover, a restore or a crash, a different server run
 * has the same address and may lack the last commits of the previous one. Numbers from those commits (strings, lanes,
 * positions, workers) are then assigned to different objects, so all data cached by number belongs to one server run.
 *
 * A restart that lost nothing also starts a new server run. This only costs one refill of the caches.
 */
export interface Incarnation {
  readonly identity: string;
}

/**
 * When the server started, in microseconds since 1970. It is a number, because the text of a time depends on session
 * settings. Every user may read it, reading it costs almost nothing, and it works through a pooler.
 */
export const identityOf = "extract(epoch FROM pg_postmaster_start_time())::text";

/**
 * A statement would have been executed on a server run other than the one whose numbers it contains. It was not
 * executed.
 */
export class IncarnationChangedError extends Error {
  override readonly name = "IncarnationChangedError";

  constructor() {
    super("the database server was restarted or replaced");
  }
}

/**
 * The current server run. This is the most recently found one, because it is read only over new connections, and those
 * lead to the server that the address currently points to.
 */
export class Incarnations {
  readonly #listeners = new Set<() => void>();
  #current: Incarnation | null = null;
  #answeredMs = Number.NEGATIVE_INFINITY;

  /**
   * Calls the listener when a different server run is found, but not for the first one. Returns a function that removes
   * the listener.
   */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Null until a connection has been opened. */
  get current(): Incarnation | null {
    return this.#current;
  }

  /** Records that a statement was answered. */
  answered(): void {
    this.#answeredMs = performance.now();
  }

  /**
   * The current server run if the server responded within this time; null if it did not, because a different run may
   * have taken over.
   */
  heardOfWithin(ms: number): Incarnation | null {
    return performance.now() - this.#answeredMs <= ms ? this.#current : null;
  }

  met(identity: string): Incarnation {
    const before = this.#current;
    if (before?.identity === identity) return before;
    const now = { identity };
    this.#current = now;
    if (before !== null) for (const listener of this.#listeners) listener();
    return now;
  }
}

/** PostgreSQL 15 and later. */
const versionMin = 150_000;

interface ServerFacts {
  /** `server_version_num`: 150004 is 15.4. */
  readonly version: number;
  readonly encoding: string;
  readonly readOnly: boolean;
}

export async function readServerFacts(runner: Runner): Promise<ServerFacts> {
  const [row] = await runner.rows<[version: string, encoding: string, readOnly: string]>(
    `SELECT current_setting('server_version_num'), current_setting('server_encoding'),
       current_setting('transaction_read_only')`,
  );
  return { version: Number(row?.[0]), encoding: row?.[1] ?? "", readOnly: row?.[2] === "on" };
}

/** Throws DatabaseSetupError if the server or the database is not suitable for the store. */
export function judgeServer({ version, encoding, readOnly }: ServerFacts): void {
  if (version < versionMin) {
    throw new DatabaseSetupError(
      "too_old",
      `the server is PostgreSQL ${Math.floor(version / 10_000)}, and Posthorn needs 15 or later: upgrade it`,
    );
  }
  if (encoding !== "UTF8") {
    throw new DatabaseSetupError(
      "encoding",
      `the database has the encoding ${encoding}: create it with createdb --encoding=UTF8 --template=template0`,
    );
  }
  if (readOnly) {
    throw new DatabaseSetupError("read_only", "the database is read-only: name the primary, not a standby");
  }
}

/** Limits that the server enforces on waiting sessions. */
export interface ServerBounds {
  readonly statementMs: number;
  readonly lockMs: number;
  /**
   * Forces index scans. Without statistics, or with outdated ones, the planner might otherwise read and sort a whole
   * table to find the first rows in an order.
   */
  readonly walksByIndex?: true;
}

/** For one step of a search. A statement that takes much longer is cancelled: the server is busy with other work. */
export const searchBounds: ServerBounds = { statementMs: 1_000, lockMs: 500, walksByIndex: true };

/** The server to which a new connection leads. */
export interface Greeting {
  /** Identifies the server run. */
  readonly identity: string;
  /** Process id of the server process behind the connection. */
  readonly pid: number;
  /**
   * Time when the connection was greeted, by the server's clock. A process that later gets the same pid started after
   * this time.
   */
  readonly greetedAt: string;
  /** False behind a pooler in transaction mode, where each transaction may run in a different server process. */
  readonly isDirect: boolean;
  /** Whether the session has the limits in the startup parameters; a pooler may drop them. */
  readonly isBounded: boolean;
  /**
   * Whether role or database settings allow commits to be acknowledged before they are on disk (`synchronous_commit`).
   */
  readonly commitsLate: boolean;
}

/**
 * Settings that the driver relies on. They override the settings of the role and the database. They determine how
 * values are formatted and compared, let transactions see each other's commits, and ensure that the warning about a
 * commit without its standby is sent.
 */
const sessionSettings: Readonly<Record<string, string>> = {
  array_nulls: "on",
  bytea_output: "hex",
  client_min_messages: "warning",
  DateStyle: "ISO",
  default_transaction_isolation: "read committed",
  extra_float_digits: "1",
  IntervalStyle: "postgres",
  standard_conforming_strings: "on",
  TimeZone: "UTC",
  transform_null_equals: "off",
};
/** The setting is only raised, never lowered, because an operator may require more than `on`. */
const durable: readonly [string, string] = ["synchronous_commit", "on"];

function settingsFor(commitsLate: boolean): readonly (readonly [name: string, value: string])[] {
  const settings = Object.entries(sessionSettings);
  return commitsLate ? [...settings, durable] : settings;
}

type GreetingRow = [
  isStandby: boolean,
  identity: string,
  pid: number,
  greetedAt: string,
  statement: boolean,
  lock: boolean,
  commitsLate: boolean,
];

const greetingSql = `SELECT pg_is_in_recovery(), ${identityOf}, pg_backend_pid(),
  clock_timestamp()::text, current_setting('statement_timeout')::interval = $1::interval,
  current_setting('lock_timeout')::interval = $2::interval, current_setting('synchronous_commit') = 'off'`;

/** Determines which server a new connection reached. Throws StandbyError if the server is read-only. */
export async function greet(client: pg.ClientBase, bounds: ServerBounds | null): Promise<Greeting> {
  const { rows } = await client.query<GreetingRow>({
    text: greetingSql,
    values: [`${bounds?.statementMs ?? 0}ms`, `${bounds?.lockMs ?? 0}ms`],
    rowMode: "array",
  });
  const [isStandby, identity, pid, greetedAt, statement, lock, commitsLate] = rows[0] ?? noRow;
  if (isStandby) throw new StandbyError();
  const { processID } = client as { readonly processID?: number | null };
  const isDirect = processID === pid;
  // Sessions behind a pooler are shared, so each transaction has its own settings there.
  if (isDirect) await setSession(client, commitsLate);
  return { identity, pid, greetedAt, isDirect, isBounded: statement && lock, commitsLate };
}

/** Settings for a session that is not shared. */
export async function setSession(client: pg.ClientBase, commitsLate: boolean): Promise<void> {
  const settings = settingsFor(commitsLate).map(
    ([name, value]) => `set_config('${name}', '${value}', false)`,
  );
  await client.query(`SELECT ${settings.join(", ")}`);
}

const noRow: GreetingRow = [true, "", 0, "", false, false, false];

/** Ends a session whose transaction was abandoned, for example because its client disappeared. */
const idleInTransactionMs = 10_000;

/** Startup parameters that limit every wait of the session in the server. */
export function startupBounds(bounds: ServerBounds | null): Partial<pg.ClientConfig> {
  if (bounds === null) return {};
  return {
    statement_timeout: bounds.statementMs,
    lock_timeout: bounds.lockMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
  };
}

const walksByIndex = [
  ...["seqscan", "bitmapscan", "hashjoin", "mergejoin"].map((way) => `enable_${way} = off`),
  "jit = off",
];

/** Begins a transaction with separate limits and settings in one round trip, which works through any pooler. */
export function beginWith(
  bounds: ServerBounds | null,
  { isDirect, commitsLate }: Pick<Greeting, "isDirect" | "commitsLate">,
): string {
  const own = isDirect ? [] : settingsFor(commitsLate).map(([name, value]) => `${name} = '${value}'`);
  // Set together with BEGIN, because setting it later would have no effect on this transaction.
  const begin = isDirect ? "BEGIN" : "BEGIN ISOLATION LEVEL READ COMMITTED";
  if (bounds === null) return [begin, ...own.map((setting) => `SET LOCAL ${setting}`)].join("; ");
  const settings = [
    ...own,
    `statement_timeout = ${bounds.statementMs}`,
    `lock_timeout = ${bounds.lockMs}`,
    `idle_in_transaction_session_timeout = ${idleInTransactionMs}`,
    ...(bounds.walksByIndex === true ? walksByIndex : []),
  ];
  return [begin, ...settings.map((setting) => `SET LOCAL ${setting}`)].join("; ");
}

/** A pooler, or a different server product, that rejects the startup parameters. */
export function refusesStartupBounds(error: unknown): boolean {
  const isRefusal = ["08P01", "22023", "42704", "0A000"].includes(codeOf(error) ?? "");
  return isRefusal && /parameter/i.test(messageOf(error));
}

/** The sealed digest key, which all processes of a deployment share (see system/keys/key-file.ts). */
export interface DigestKeyRow {
  readonly place: string;
  read(): Promise<Uint8Array | null>;
  create(sealed: Uint8Array): Promise<Uint8Array>;
  replace(sealed: Uint8Array): Promise<void>;
}

/** `at` is the database's address without credentials, for messages. */
export function digestKeyRow(runner: Runner, at: string): DigestKeyRow {
  const read = async (): Promise<Uint8Array | null> => {
    const [row] = await runner.rows<[key: Uint8Array | null]>("SELECT digest_key FROM posthorn.deployment");
    return row?.[0] ?? null;
  };
  return {
    place: `the row posthorn.deployment of ${at}`,
    read,
    async create(sealed) {
      // If several processes start concurrently, only one creates the key.
      await runner.rows("UPDATE posthorn.deployment SET digest_key = $1 WHERE digest_key IS NULL", [
        Buffer.from(sealed),
      ]);
      return (await read()) ?? sealed;
    },
    async replace(sealed) {
      await runner.rows("UPDATE posthorn.deployment SET digest_key = $1", [Buffer.from(sealed)]);
    },
  };
}

/** Ids of master keys, which reveal nothing about the keys. */
export interface MasterKeyIds {
  /** Id of the key that seals new secrets. */
  readonly current: string;
  /** Ids of the keys that can still open secrets sealed with them. */
  readonly previous: readonly string[];
}

/** The id of the deployment. It is random and created together with its database. */
export async function deploymentId(runner: Runner): Promise<string> {
  const [row] = await runner.rows<[id: string]>("SELECT id FROM posthorn.deployment");
  return row?.[0] ?? "";
}

/**
 * Ensures that every process that uses the database can read its secrets. The first process stores the id of its master
 * key. Later processes must have that key, as the current one or, after a rotation, among the previous ones.
 */
export async function checkMasterKey(runner: Runner, ids: MasterKeyIds): Promise<void> {
  await runner.rows("INSERT INTO posthorn.deployment (master_key_id) VALUES ($1) ON CONFLICT DO NOTHING", [
    ids.current,
  ]);
  const [row] = await runner.rows<[id: string]>("SELECT master_key_id FROM posthorn.deployment");
  const stored = row?.[0] ?? "";
  if (stored === ids.current) return;
  if (!ids.previous.includes(stored)) throw new DifferentMasterKeyError();
  await runner.rows("UPDATE posthorn.deployment SET master_key_id = $1 WHERE master_key_id = $2", [
    ids.current,
    stored,
  ]);
}
