import type pg from "pg";
import { codeOf, messageOf } from "../../../core/thrown.ts";
import { StandbyError } from "./errors.ts";
import { identityOf } from "./incarnations.ts";

/** Limits that the server enforces on waiting sessions. */
export interface ServerBounds {
  readonly statementMs: number;
  readonly lockMs: number;
  /**
   * Every table is read by an index, row by row. Without statistics, or with old ones, the planner may otherwise read
   * and sort a whole table to find the first rows of an order.
   */
  readonly walksByIndex?: true;
}

/** The server that a new connection reached. */
export interface Greeting {
  /** Of the server run (incarnations.ts). */
  readonly identity: string;
  /** Of the server process behind the connection. */
  readonly pid: number;
  /** By the server's clock. Another process that gets the same pid later started after this time. */
  readonly greetedAt: string;
  /** False behind a pooler in transaction mode, where each transaction may run in another server process. */
  readonly isDirect: boolean;
  /** Whether the session has the limits in the startup parameters; a pooler may drop them. */
  readonly isBounded: boolean;
  /** Whether settings of the role or database let commits be answered before they are on disk. */
  readonly commitsLate: boolean;
}

/**
 * Settings that the driver relies on, whatever role and database set: how values are written, how comparisons work,
 * that transactions see each other's commits, and that the warning about a commit without its standby is sent.
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
/** Raised, never lowered: an operator may require more than `on`. */
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

/** Asks a new connection which server it reached. Throws StandbyError if the server is read-only. */
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
  // Sessions behind a pooler are shared, so there each transaction has its own settings.
  if (isDirect) await setSession(client, commitsLate);
  return { identity, pid, greetedAt, isDirect, isBounded: statement && lock, commitsLate };
}

/** For a session that is not shared. */
export async function setSession(client: pg.ClientBase, commitsLate: boolean): Promise<void> {
  const settings = settingsFor(commitsLate).map(
    ([name, value]) => `set_config('${name}', '${value}', false)`,
  );
  await client.query(`SELECT ${settings.join(", ")}`);
}

const noRow: GreetingRow = [true, "", 0, "", false, false, false];

/** Ends a session with an abandoned transaction, for example after its client vanished. */
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
  // Set together with BEGIN; later would be too late for this transaction.
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

/** A pooler, or another server product, that refuses the startup parameters. */
export function refusesStartupBounds(error: unknown): boolean {
  const isRefusal = ["08P01", "22023", "42704", "0A000"].includes(codeOf(error) ?? "");
  return isRefusal && /parameter/i.test(messageOf(error));
}
