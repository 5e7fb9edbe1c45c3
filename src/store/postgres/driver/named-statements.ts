import { createHash } from "node:crypto";
import type pg from "pg";
import { codeOf } from "../../../domain/thrown.ts";

/**
 * Which connections keep statements under a name, parsed and planned: none; those directly to the server (`auto`); or
 * all, because the operator says that the pooler in between supports them (`on`).
 */
export type PreparedStatements = "auto" | "on" | "off";

/**
 * A batch with a longer column (some fifty ids) is planned for its contents. A generic plan expects few rows, and
 * planning costs little compared with the batch.
 */
const columnLengthMax = 2_000;
/** Prefix of a statement that never has a name, because with many rows it needs a plan for the current tables. */
export const plannedEachTime = "/* planned each time */ ";
/** More texts than the hot path has. Later ones get no name, so that the server's memory stays bounded. */
const namesMax = 300;
/**
 * How long a plan is used: a table that was nearly empty when the plan was made may have grown. Planning all statements
 * of a session again costs some milliseconds.
 */
const plansMsMax = 5_000;

/**
 * A plan is used for a while, so it has to suit tables of any size: no sequential scans where an index works. The
 * planner's penalty for them would trigger JIT compilation, so that is disabled. Other measures to this end are
 * described at the statements.
 */
const sessionSql = "SELECT set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)";

/**
 * How a statement is planned: once for any values, or for its own values, as one without a name needs. The server does
 * not tell the two apart, and on its own plans nearly all of them each time.
 */
export type PlannedFor = "any_values" | "its_own";

const plannedForSql: Readonly<Record<PlannedFor, string>> = {
  any_values: "SET plan_cache_mode = force_generic_plan",
  its_own: "SET plan_cache_mode = auto",
};

/** Names of statements, and whether the connections of one purpose may use them. */
export class NamedStatements {
  readonly #mode: PreparedStatements;
  readonly #names = new Map<string, string>();
  /** A pooler in between turned out not to support them. */
  #isPoolerUnable = false;
  /** Sessions of an earlier generation have lost statements, or have outdated ones. */
  #generation = 0;

  constructor(mode: PreparedStatements) {
    this.#mode = mode;
  }

  get generation(): number {
    return this.#generation;
  }

  isOnFor(isDirect: boolean): boolean {
    if (isDirect) return this.#mode !== "off";
    return this.#mode === "on" && !this.#isPoolerUnable;
  }

  /** Null for a statement without a name. */
  nameOf(sql: string, values: readonly unknown[]): string | null {
    if (values.some((value) => typeof value === "string" && value.length > columnLengthMax)) return null;
    const known = this.#names.get(sql);
    if (known !== undefined) return known;
    if (this.#names.size >= namesMax || sql.startsWith(plannedEachTime)) return null;
    const name = createHash("sha1").update(sql).digest("hex");
    this.#names.set(sql, name);
    return name;
  }

  /** A session lost a statement. Other sessions may have lost it too, so all are renewed. */
  lost(isDirect: boolean): void {
    if (isDirect) this.#generation += 1;
    else this.#isPoolerUnable = true;
  }
}

/** The plans of a direct session. */
export class SessionPlans {
  #madeAtMs = performance.now();
  /** Null when unknown: a rolled back transaction reverts what it set. */
  #plannedFor: PlannedFor | null = null;

  /** Call once, before the first named statement. */
  static async open(client: pg.ClientBase): Promise<SessionPlans> {
    await client.query(sessionSql);
    return new SessionPlans();
  }

  /** The statement to send before one that is planned this way; null for none. It counts as sent. */
  changeTo(plannedFor: PlannedFor): string | null {
    if (this.#plannedFor === plannedFor) return null;
    this.#plannedFor = plannedFor;
    return plannedForSql[plannedFor];
  }

  rolledBack(): void {
    this.#plannedFor = null;
  }

  get areOld(): boolean {
    return performance.now() - this.#madeAtMs > plansMsMax;
  }

  async renew(client: pg.ClientBase): Promise<void> {
    await client.query("DISCARD PLANS");
    this.#madeAtMs = performance.now();
  }
}

/**
 * Whether a named statement could not be run because the session lacks it, has another one by its name, or its result
 * has other columns since a migration. It was not executed.
 */
export function isStatementLost(error: unknown): boolean {
  const code = codeOf(error);
  if (code === "26000" || code === "42P05") return true;
  // The code says "not supported". The message text depends on the language; the routine does not.
  return code === "0A000" && (error as { readonly routine?: unknown }).routine === "RevalidateCachedQuery";
}
