import pg from "pg";
import type { MovedPart, MovedRow, MoveSource, Stretch } from "../../../ports/store/moving.ts";
import { type MovedTo, noDatabaseIn, olderSchema } from "../../moved-parts.ts";
import type { Runner } from "../driver/database.ts";
import { digestKeyRow, setSession } from "../driver/server.ts";
import { columnTypes, parseAddress } from "../driver/driver.ts";
import { setupError, storeError } from "../driver/errors.ts";
import { planMigrations } from "../migrations.ts";
import { countPart, fingerprintOf, markMoved, readMoved, readPart } from "./moving-rows.ts";

const connectTimeoutMs = 6_000;

/** A database from which a move reads: its contents, and whether a process uses it. */
export interface PostgresMoveSource extends MoveSource {
  /** The address without credentials. */
  readonly place: string;
  /** Whether a Posthorn process is connected. */
  isServed(): Promise<boolean>;
  /** The sealed digest key. */
  digestKey(): Promise<Uint8Array | null>;
  /** Records where the contents were moved; null records that the database is in service again. */
  markMoved(to: MovedTo | null): Promise<void>;
  /** Where the contents were moved; null if they were not moved. */
  movedTo(): Promise<MovedTo | null>;
}

/** Opens a database, which may be in service. Throws DatabaseSetupError. */
export async function openPostgresMoveSource(url: string): Promise<PostgresMoveSource> {
  const { at } = parseAddress(url);
  // Two connections: one reads a snapshot for the duration of a round, the other the current state.
  const [reader, asker] = [connectionTo(url), connectionTo(url)];
  try {
    await Promise.all(
      [reader, asker].map(async (client) => {
        await client.connect();
        await setSession(client, false);
      }),
    );
  } catch (error) {
    await Promise.allSettled([reader.end(), asker.end()]);
    throw setupError(error, at);
  }
  return new PostgresRows(reader, asker, at);
}

function connectionTo(url: string): pg.Client {
  return new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    application_name: "posthorn move",
    types: columnTypes,
  });
}

class PostgresRows implements PostgresMoveSource {
  readonly place: string;
  readonly #reader: pg.Client;
  readonly #asker: pg.Client;

  constructor(reader: pg.Client, asker: pg.Client, place: string) {
    this.#reader = reader;
    this.#asker = asker;
    this.place = place;
  }

  async freeze(): Promise<void> {
    await query(this.#reader, "COMMIT");
    await query(this.#reader, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const { from, pending } = await planMigrations(runnerOf(this.#reader));
    if (from === 0) throw noDatabaseIn(this.place);
    if (pending.length > 0) throw olderSchema(this.place);
  }

  read(part: MovedPart, stretch: Stretch & { readonly limit: number }): Promise<readonly MovedRow[]> {
    return readPart(runnerOf(this.#reader), part, stretch);
  }

  fingerprint(part: MovedPart, stretch: Stretch): Promise<string> {
    return fingerprintOf(runnerOf(this.#reader), part, stretch);
  }

  count(part: MovedPart): Promise<number> {
    return countPart(runnerOf(this.#reader), part);
  }

  movedTo(): Promise<MovedTo | null> {
    return readMoved(runnerOf(this.#asker));
  }

  async isServed(): Promise<boolean> {
    const [row] = await runnerOf(this.#asker).rows<[isServed: boolean]>(
      `SELECT EXISTS (SELECT FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'posthorn')`,
    );
    return row?.[0] === true;
  }

  digestKey(): Promise<Uint8Array | null> {
    return digestKeyRow(runnerOf(this.#asker), this.place).read();
  }

  markMoved(to: MovedTo | null): Promise<void> {
    return markMoved(runnerOf(this.#asker), to);
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.#reader.end(), this.#asker.end()]);
  }
}

function runnerOf(client: pg.Client): Runner {
  return { rows: (sql, values) => query(client, sql, values) };
}

async function query<Row extends readonly unknown[]>(
  client: pg.Client,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  try {
    const { rows } = await client.query({ text, values: [...values], rowMode: "array" as const });
    return rows as unknown as readonly Row[];
  } catch (error) {
    throw storeError(error);
  }
}
