import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { MovedKind, MovedPart, MoveSource, Stretch } from "../../../ports/store/moving.ts";
import { noDatabaseIn, olderSchema } from "../../moved-parts.ts";
import { refuseEmptied, storeError } from "../driver/errors.ts";
import { planMigrations } from "../migrations.ts";
import { databaseFile } from "../open.ts";
import { SqlitePartReader, type StoredPart, storedPart, within } from "./moving-rows.ts";

/**
 * Reads a data folder, even while a server works on it: it only reads. SQLite creates files next to the database,
 * unless `leavesNoTrace` is set. That is for previews only: concurrent writes may be missed.
 */
export function openSqliteMoveSource({
  dataDir,
  leavesNoTrace,
}: {
  readonly dataDir: string;
  readonly leavesNoTrace: boolean;
}): MoveSource {
  const file = databaseFile(dataDir);
  refuseEmptied(file);
  if (!existsSync(file)) throw noDatabaseIn(dataDir);
  const url = pathToFileURL(file);
  // Without it, commits that a crash left in the WAL would be invisible.
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
   * SQLite concatenates the rows, at half the cost of reading them, in the order in which it finds them. A different
   * order would only cause the stretch to be read.
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

  /** The server's WAL cannot shrink until the next call. */
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
  // As plain text, a fraction would lose its last digits.
  return kind === "real" ? `quote(${sql})` : `ifnull(${sql}, '-')`;
}
