import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type {
  KeptStretch,
  MovedKind,
  MovedPart,
  MovedRow,
  MovedValue,
  MoveSource,
  MoveTarget,
  Stretch,
} from "../../../ports/store/moving.ts";
import {
  holdsSomething,
  type KeptRow,
  keptStretches,
  movedParts,
  noDatabaseIn,
  olderSchema,
  otherMoveInto,
  tellingTables,
} from "../../moved-parts.ts";
import { openDatabase } from "../driver/connection.ts";
import { refuseEmptied, storeError } from "../driver/errors.ts";
import { takeOwnerLock } from "../driver/owner-lock.ts";
import { planMigrations } from "../migrations.ts";
import { databaseFile, openSqliteStore, type SqliteStoreOptions } from "../open.ts";
import { finishing, SqlitePartReader, type StoredPart, storedPart, within } from "./moving-rows.ts";

/**
 * Opens an empty data folder for a move, or a folder for which the same move has already begun. No process can use it
 * before the move is finished. Throws the errors of opening a store, and StoreMovedError.
 */
export async function openSqliteMoveTarget(
  options: SqliteStoreOptions & { readonly source: string },
): Promise<MoveTarget> {
  // Opening and closing the store creates the schema.
  await (await openSqliteStore({ ...options, evenIfMoved: true })).close();
  const lock = takeOwnerLock(options.dataDir, options.pid);
  try {
    const db = openDatabase(databaseFile(options.dataDir), 5_000, planMigrations);
    begin(db, options.dataDir, options.source);
    return new SqliteMoveTarget(db, () => lock.release());
  } catch (error) {
    lock.release();
    throw storeError(error);
  }
}

function begin(db: DatabaseSync, dataDir: string, source: string): void {
  const begun = db.prepare("SELECT value FROM meta WHERE key = 'moving'").get();
  if (begun !== undefined) {
    if (begun["value"] === source) return;
    throw otherMoveInto(dataDir, String(begun["value"]));
  }
  for (const table of tellingTables)
    if (db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined)
      throw holdsSomething(dataDir, table);
  db.exec("BEGIN IMMEDIATE");
  for (const part of movedParts) db.exec(`DELETE FROM ${storedPart(part).table.split(" ")[0]}`);
  db.exec("DELETE FROM meta");
  db.prepare("INSERT INTO meta VALUES ('moving', ?)").run(source);
  db.exec(`CREATE TABLE moving (part TEXT, number INTEGER, up_to TEXT NOT NULL, rows INTEGER NOT NULL,
    digest TEXT NOT NULL, fingerprint TEXT NOT NULL, PRIMARY KEY (part, number)) WITHOUT ROWID`);
  db.exec("COMMIT");
}

/**
 * Opens a data folder for reading, which is possible even while a server is using it. SQLite creates files next to the
 * database, unless `leavesNoTrace` is set. That option is only for previews, because it may miss concurrent writes.
 */
export function openSqliteMoveSource(dataDir: string, leavesNoTrace: boolean): MoveSource {
  const file = databaseFile(dataDir);
  refuseEmptied(file);
  if (!existsSync(file)) throw noDatabaseIn(dataDir);
  const url = pathToFileURL(file);
  // With `immutable`, commits that a crash left in the WAL would be invisible, so it is set only if the WAL does not
  // exist.
  if (leavesNoTrace && !existsSync(`${file}-wal`)) url.searchParams.set("immutable", "1");
  try {
    return new SqliteMoveSource(new DatabaseSync(url, { readOnly: true, timeout: 5_000 }), dataDir);
  } catch (error) {
    throw storeError(error);
  }
}

class SqliteMoveSource extends SqlitePartReader implements MoveSource {
  readonly #dataDir: string;

  constructor(db: DatabaseSync, dataDir: string) {
    super(db);
    this.#dataDir = dataDir;
  }

  /**
   * SQLite concatenates the rows in the order in which it finds them, at half the cost of reading them. A different
   * order would only cause the range to be read.
   */
  fingerprint(part: MovedPart, stretch: Stretch): Promise<string> {
    const stored = storedPart(part);
    const { sql, values } = within(stored, stretch);
    return this.guarded(() => {
      const [joined] = this.statement(
        `SELECT CAST(group_concat(${joinedColumns(part, stored)}, '') AS BLOB) FROM ${stored.from} ${sql}`,
      ).get(...values) as unknown as [Uint8Array | null];
      return createHash("sha256")
        .update(joined ?? "")
        .digest("hex");
    });
  }

  /** The server's WAL cannot shrink until `freeze` is called again. */
  async freeze(): Promise<void> {
    await this.guarded(() => {
      if (this.db.isTransaction) this.db.exec("COMMIT");
      this.db.exec("BEGIN");
      if (planMigrations(this.db).pending.length > 0) throw olderSchema(this.#dataDir);
    });
  }
}

/** The columns of a row as one text; values of arbitrary content are prefixed with their length. */
function joinedColumns({ columns: kinds }: MovedPart, { columns }: StoredPart): string {
  return Object.entries(kinds)
    .map(([name, kind]) => joinedColumn(columns[name] ?? name, kind))
    .join(" || ',' || ");
}

function joinedColumn(sql: string, kind: MovedKind): string {
  if (kind === "text" || kind === "bytes")
    return `ifnull(octet_length(${sql}) || ':' || CAST(${sql} AS TEXT), '-')`;
  // In plain text form, a fraction would lose its last digits.
  return kind === "real" ? `quote(${sql})` : `ifnull(${sql}, '-')`;
}

/** Receives all data of another store into an empty file. The caller owns the folder. */
class SqliteMoveTarget extends SqlitePartReader implements MoveTarget {
  readonly #release: () => void;

  constructor(db: DatabaseSync, release: () => void) {
    super(db);
    this.#release = release;
  }

  kept(part: MovedPart): Promise<readonly KeptStretch[]> {
    return this.guarded(() =>
      keptStretches(
        this.statement(
          "SELECT number, up_to, rows, digest, fingerprint FROM moving WHERE part = ? ORDER BY number",
        ).all(part.name) as unknown as KeptRow[],
      ),
    );
  }

  replace(part: MovedPart, stretch: KeptStretch, rows: readonly MovedRow[]): Promise<void> {
    const stored = storedPart(part);
    return this.#inTransaction(() => {
      const { sql, values } = within(stored, stretch);
      this.statement(`DELETE FROM ${stored.table} ${sql}`).run(...values);
      const insert = this.#insert(part);
      for (const row of rows) insert.run(named(part, row));
      const { number, upTo, digest, fingerprint } = stretch;
      this.statement("INSERT OR REPLACE INTO moving VALUES (?, ?, ?, ?, ?, ?)").run(
        part.name,
        number,
        JSON.stringify(upTo),
        stretch.rows,
        digest,
        fingerprint,
      );
    });
  }

  #insert(part: MovedPart): StatementSync {
    const { table, writes } = storedPart(part);
    const statement = this.statement(
      `INSERT INTO ${table.split(" ")[0]} (${Object.keys(writes).join(", ")})
       VALUES (${Object.values(writes).join(", ")})`,
    );
    // The tables of this store do not have every column of a part.
    statement.setAllowUnknownNamedParameters(true);
    return statement;
  }

  finish(): Promise<void> {
    return this.#inTransaction(() => {
      for (const sql of finishing) this.db.exec(sql);
    });
  }

  override async close(): Promise<void> {
    await super.close();
    this.#release();
  }

  #inTransaction(work: () => void): Promise<void> {
    return this.guarded(() => {
      this.db.exec("BEGIN IMMEDIATE");
      try {
        work();
        this.db.exec("COMMIT");
      } catch (error) {
        if (this.db.isTransaction) this.db.exec("ROLLBACK");
        throw error;
      }
    });
  }
}

type Bound = string | number | Uint8Array | null;

function named(part: MovedPart, row: MovedRow): Record<string, Bound> {
  return Object.fromEntries(
    Object.keys(part.columns).map((name, place) => [name, bound(row[place] ?? null)]),
  );
}

function bound(value: MovedValue): Bound {
  return typeof value === "boolean" ? Number(value) : value;
}
