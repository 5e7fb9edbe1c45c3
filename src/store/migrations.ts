import { createHash } from "node:crypto";

/** The database was written by a newer version of Posthorn. */
class SchemaTooNewError extends Error {
  override readonly name = "SchemaTooNewError";
  readonly found: number;
  readonly known: number;

  constructor(found: number, known: number) {
    super(`the database has schema ${found}, this version supports up to ${known}: upgrade Posthorn`);
    this.found = found;
    this.known = known;
  }
}

/** An applied migration differs from the one in this version. */
class MigrationMismatchError extends Error {
  override readonly name = "MigrationMismatchError";

  constructor(number: number, name: string) {
    super(`migration ${number} (${name}) differs from the one that created this database`);
  }
}

/** Until 0.1.0, every change of the schema modified migration 1, so its checksum identifies development versions. */
class DevelopmentSchemaError extends Error {
  override readonly name = "DevelopmentSchemaError";

  constructor() {
    super(
      "the database was created by a development version of Posthorn from before 0.1.0, which this version cannot open: " +
        "start with an empty data folder or database, or use the version that created it",
    );
  }
}

/** One step of a schema. A released one never changes, because databases store its checksum. */
export interface Migration {
  /** Numbers start at 1. */
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

export interface MigrationPlan {
  /** The current version of the database; 0 for an empty database. */
  readonly from: number;
  readonly pending: readonly Migration[];
}

/** An applied migration as recorded in the database. */
export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
}

/** The pending migrations. Throws DevelopmentSchemaError, SchemaTooNewError and MigrationMismatchError. */
export function planFrom(applied: readonly AppliedMigration[], known: readonly Migration[]): MigrationPlan {
  const [first] = applied;
  if (first !== undefined && known[0] !== undefined && checksum(known[0]) !== first.checksum)
    throw new DevelopmentSchemaError();
  const newest = applied.at(-1)?.number ?? 0;
  const newestKnown = known.at(-1)?.number ?? 0;
  if (newest > newestKnown) throw new SchemaTooNewError(newest, newestKnown);
  for (const row of applied) {
    const migration = known.find(({ number }) => number === row.number);
    if (migration === undefined || checksum(migration) !== row.checksum)
      throw new MigrationMismatchError(row.number, row.name);
  }
  return { from: newest, pending: known.filter(({ number }) => number > newest) };
}

export function checksum(migration: Migration): string {
  return createHash("sha256").update(migration.sql).digest("hex");
}
