import { createHash } from "node:crypto";
import type pg from "pg";
import { codeOf } from "../../../core/thrown.ts";

/**
 * Which connections keep statements under a name, parsed and planned: none; those that lead to the server itself
 * (`auto`); or all, because whoever set it says that the pooler in between carries them (`on`).
 */
export type PreparedStatements = "auto" | "on" | "off";

/**
 * A batch with a longer column (some fifty ids) is planned for what it holds, because a plan for any values expects few, and
 * what that costs is nothing beside the batch.
 */
const columnLengthMax = 2_000;
/** Begins a statement that never has a name, because what it does with many rows needs a plan for the tables as they are. */
export const plannedEachTime = "/* planned each time */ ";
/** More texts than the hot path has. What comes later has no name, so that nobody fills the server's memory. */
const namesMax = 300;
/**
 * How long a plan is used: a table that was nearly empty when it was made may have grown. To plan all statements of a
 * session again costs some milliseconds.
 */
const plansMsMax = 5_000;

/**
 * A plan lasts for a while, so that it has to suit tables of any size: without walks through whole tables where an index will
 * do. The cost that stands for that would otherwise make the server compile the plan. What else a statement does to that
 * end stands beside it.
 */
const sessionSql = "SELECT set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)";

/**
 * For what a statement is planned: for any values, once, or for its own, which is what one without a name needs. The server
 * does not tell the two apart, and left to itself plans nearly all anew each time.
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
  /** A pooler in between was found not to carry them. */
  #isPoolerUnable = false;
  /** Sessions of an earlier one have lost statements, or have some that do not fit any more. */
  #generation = 0;

  constructor(mode: PreparedStatements) {
    this.#mode = mode;
  }

  get generation(): number {
    return this.#generation;
  }

  isOnFor({ isDirect }: { readonly isDirect: boolean }): boolean {
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

  /** A session does not know a statement that it should. Other sessions may be as bad, so that all are renewed. */
  lost({ isDirect }: { readonly isDirect: boolean }): void {
    if (isDirect) this.#generation += 1;
    else this.#isPoolerUnable = true;
  }
}

/** The plans of a direct session. */
export class SessionPlans {
  #madeAtMs = performance.now();
  /** Null when nobody knows: a rolled back transaction takes back what it set. */
  #plannedFor: PlannedFor | null = null;

  /** To be called once, before the first named statement. */
  static async open(client: pg.ClientBase): Promise<SessionPlans> {
    await client.query(sessionSql);
    return new SessionPlans();
  }

  /** What is to be sent before a statement that is planned for this; null for nothing. It counts as done. */
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
 * Whether a named statement could not be run because the session does not know it, knows another one by its name, or its
 * result has other columns since a migration. Nothing of it was run.
 */
export function isStatementLost(error: unknown): boolean {
  const code = codeOf(error);
  if (code === "26000" || code === "42P05") return true;
  // The code says "not supported". Only the server's source names the reason in every language.
  return code === "0A000" && (error as { readonly routine?: unknown }).routine === "RevalidateCachedQuery";
}
