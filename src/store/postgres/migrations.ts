import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../../domain/thrown.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import {
  type AppliedMigration,
  checksum,
  type Migration,
  type MigrationPlan,
  planFrom,
} from "../migrations.ts";
import type { Database, Runner, Transaction } from "./driver/database.ts";
import { schema } from "./schema.ts";

/**
 * A step that changes a large table works online: `beforehand` contains statements that cannot run in a transaction,
 * such as `CREATE INDEX CONCURRENTLY IF NOT EXISTS`, or that backfill in small steps. They run one by one before `sql`,
 * block neither reads nor writes, and can be repeated after an interrupted run. `sql` itself only makes instant
 * changes: new tables, columns with a constant default, constraints NOT VALID.
 */
export interface PostgresMigration extends Migration {
  readonly beforehand?: readonly string[];
}

/**
 * Migrations in order. A released migration never changes, because databases store its checksum. Until 0.1.0 there is
 * only one.
 */
export const migrations: readonly PostgresMigration[] = [schema];

/** "POSTHORN" as a number. Identifies the advisory lock for migrations. */
const migrationLock = "5787800397498404430";

/**
 * Changing a table locks it for an instant. If a long read (such as a backup) blocks that lock, all others would queue
 * behind us, including workers that have to send heartbeats. Therefore, give up soon and retry later.
 */
const lockTimeout = "SELECT set_config('lock_timeout', '500ms', true)";
const againMs = 1_000;
const triesMax = 600;

/** The migrations that `migrate` would run. Writes nothing. */
export async function planMigrations(
  database: Runner,
  known: readonly PostgresMigration[] = migrations,
): Promise<MigrationPlan> {
  return planFrom(await appliedMigrations(database), known);
}

/**
 * Migrates the database, each migration in a separate transaction. If several processes start concurrently, one
 * migrates and the others wait.
 */
export async function migrate(
  database: Database,
  now: number,
  known: readonly PostgresMigration[] = migrations,
): Promise<MigrationPlan> {
  const plan = await planMigrations(database, known);
  for (const { number } of plan.pending) {
    const migration = known.find((each) => each.number === number);
    if (migration === undefined) continue;
    for (const statement of migration.beforehand ?? []) await database.rows(statement);
    await withoutBlocking(() =>
      database.transaction((transaction) => apply(transaction, migration, known, now)),
    );
  }
  return plan;
}

/** Repeats work that could not acquire its locks. */
async function withoutBlocking(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === triesMax || !isLockTimeout(error)) throw error;
      await sleep(againMs);
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  const cause = error instanceof StoreUnavailableError ? error.cause : error;
  return codeOf(cause) === "55P03";
}

async function apply(
  transaction: Transaction,
  migration: Migration,
  known: readonly PostgresMigration[],
  now: number,
): Promise<void> {
  // The lock ends with the transaction, so it works through a pooler and is always released.
  await transaction.rows(`SELECT pg_advisory_xact_lock(${migrationLock})`);
  const { from } = await planMigrations(transaction, known);
  if (from >= migration.number) return;
  // The lock timeout is set only here, because processes that start concurrently wait for the one that migrates,
  // however long that takes.
  await transaction.rows(lockTimeout);
  // `IF NOT EXISTS` is not used, because it requires the right to create schemas even if an administrator has already
  // created the schema.
  const [schema] = await transaction.rows<[isThere: boolean]>(
    "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'posthorn')",
  );
  if (schema?.[0] !== true) await transaction.rows("CREATE SCHEMA posthorn");
  await transaction.rows(
    `CREATE TABLE IF NOT EXISTS posthorn.migrations (
       number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at bigint NOT NULL)`,
  );
  for (const statement of statementsOf(migration.sql)) await transaction.rows(statement);
  await transaction.rows("INSERT INTO posthorn.migrations VALUES ($1, $2, $3, $4)", [
    migration.number,
    migration.name,
    checksum(migration),
    now,
  ]);
}

// Reads the catalogs as tables, because to_regclass uses a cache that misses objects created while we waited.
async function appliedMigrations(database: Runner): Promise<readonly AppliedMigration[]> {
  const [found] = await database.rows<[isThere: boolean]>(
    "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'posthorn' AND tablename = 'migrations')",
  );
  if (found?.[0] !== true) return [];
  const rows = await database.rows<[number: number, name: string, checksum: string]>(
    "SELECT number, name, checksum FROM posthorn.migrations ORDER BY number",
  );
  return rows.map(([number, name, sum]) => ({ number, name, checksum: sum }));
}

/** Statements are separated by a semicolon at the end of a line, which does not occur in our function bodies. */
function statementsOf(sql: string): readonly string[] {
  return sql
    .split(/;\n/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}
