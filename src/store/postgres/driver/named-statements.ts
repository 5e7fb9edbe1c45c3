import { createHash } from "node:crypto";
import type pg from "pg";
import { codeOf } from "../../../domain/thrown.ts";

/**
 * Which connections use named statements, which are already parsed and planned: none (`off`), only direct connections
 * to the server (`auto`), or all, because the operator states that the pooler in between supports them (`on`).
 */
export type PreparedStatements = "auto" | "on" | "off";

/**
 * A batch with a longer column (about fifty ids) is planned for its contents. A generic plan expects few rows, and
 * planning costs little compared with the batch.
 */
const columnLengthMax = 2_000;
/**
 * Prefix of a statement that never has a name, because with many rows it needs a plan for the current state of the
 * tables.
 */
export const plannedEachTime = "/* planned each time */ ";
/**
 * Maximum number of named statements, which is more than the number of frequently used ones. Further statements get no
 * name, which bounds the memory of the server.
 */
const namesMax = 300;
/**
 * How long a plan is used: a table that was nearly empty when the plan was created may have grown. Replanning all
 * statements of a session takes a few milliseconds.
 */
const plansMsMax = 5_000;

/**
 * A plan is used for a while, so it has to suit tables of any size: no sequential scans if an index can be used. The
 * planner's penalty for sequential scans would trigger JIT compilation, so JIT is disabled. Other measures for this
 * purpose are described at the statements.
 */
const sessionSql = "SELECT set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)";

/**
 * How a statement is planned: once for any values, or each time for its own values, which is required for unnamed
 * statements. The server does not distinguish the two cases and, by default, would plan nearly all statements each
 * time.
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
  /** True if a pooler in between was found not to support named statements. */
  #isPoolerUnable = false;
  /** Sessions with an earlier generation have lost statements, or have outdated statements. */
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

  /**
   * Called when a session has lost a statement. Other direct sessions may have lost it too, so all of them are renewed.
   * Behind a pooler, named statements are disabled.
   */
  lost(isDirect: boolean): void {
    if (isDirect) this.#generation += 1;
    else this.#isPoolerUnable = true;
  }
}

/** The planning mode and the age of the plans in a direct session. */
export class SessionPlans {
  #madeAtMs = performance.now();
  /** Null if unknown: a rollback also reverts the planning mode that the transaction set. */
  #plannedFor: PlannedFor | null = null;

  /** Call once, before the first named statement. */
  static async open(client: pg.ClientBase): Promise<SessionPlans> {
    await client.query(sessionSql);
    return new SessionPlans();
  }

  /**
   * Returns the statement to send before a statement with this planning mode; null if none is needed. Assumes that the
   * caller sends the returned statement.
   */
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
 * Whether a named statement could not be run because the session lacks it, has a different statement with its name, or
 * its result has other columns since a migration. The statement was not executed.
 */
export function isStatementLost(error: unknown): boolean {
  const code = codeOf(error);
  if (code === "26000" || code === "42P05") return true;
  // The code says "not supported". The message text depends on the language; the routine does not.
  return code === "0A000" && (error as { readonly routine?: unknown }).routine === "RevalidateCachedQuery";
}
