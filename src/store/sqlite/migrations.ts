import type { DatabaseSync } from "node:sqlite";
import {
  type AppliedMigration,
  checksum,
  type Migration,
  type MigrationPlan,
  planFrom,
} from "../migrations.ts";
import { ForeignDatabaseError } from "./driver/errors.ts";
import { schema } from "./schema.ts";

/**
 * Migrations in order. A released migration never changes, because databases store its checksum. Until 0.1.0 there is
 * only one.
 */
export const migrations: readonly Migration[] = [schema];

/** "PHRN" as a number. Distinguishes our files from those of other programs. */
const applicationId = 0x5048524e;

/** SQLite's result code for a file that is not a database. */
const notADatabase = 26;

/**
 * The migrations that `migrate` would run, after checking that the database belongs to Posthorn, is unchanged and not
 * newer. Writes nothing.
 */
export function planMigrations(db: DatabaseSync, known: readonly Migration[] = migrations): MigrationPlan {
  return planFrom(appliedMigrations(db), known);
}

/** Migrates the database, each migration in a separate transaction. */
export function migrate(db: DatabaseSync, now: number, known?: readonly Migration[]): MigrationPlan {
  const plan = planMigrations(db, known);
  for (const migration of plan.pending) apply(db, migration, now);
  return plan;
}

function apply(db: DatabaseSync, migration: Migration, now: number): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    db.exec(
      `CREATE TABLE IF NOT EXISTS migrations (
         number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL)`,
    );
    db.exec(migration.sql);
    db.prepare("INSERT INTO migrations VALUES (?, ?, ?, ?)").run(
      migration.number,
      migration.name,
      checksum(migration),
      now,
    );
    db.exec(`PRAGMA application_id = ${applicationId}`);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

function appliedMigrations(db: DatabaseSync): readonly AppliedMigration[] {
  if (!isOurs(db)) return [];
  return db
    .prepare("SELECT number, name, checksum FROM migrations ORDER BY number")
    .all() as unknown as AppliedMigration[];
}

/** False for an empty file; throws if the file belongs to another program. */
function isOurs(db: DatabaseSync): boolean {
  try {
    const id = db.prepare("PRAGMA application_id").get()?.["application_id"];
    if (id === applicationId) return true;
    const tables = db.prepare("SELECT count(*) AS count FROM sqlite_schema").get()?.["count"];
    if (tables === 0 && id === 0) return false;
  } catch (error) {
    if (!(error instanceof Error && "errcode" in error && error.errcode === notADatabase)) throw error;
  }
  throw new ForeignDatabaseError(db.location() ?? "the file");
}
