import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { keepFresh } from "../conformance/store/fresh-schema.fixture.ts";
import { createTestDatabase } from "../conformance/store/postgres-database.fixture.ts";
import { start } from "../conformance/store/scene.fixture.ts";
import type { Store } from "../../src/ports/store.ts";

/** One database. `open` first restores the contents that a store's first start creates, including the sequences. */
export class FreshPostgres implements AsyncDisposable {
  #made: ReturnType<typeof makeFresh> | null = null;

  /** The URL of the database. */
  async open(): Promise<string> {
    const { database, schema, sequences } = await (this.#made ??= makeFresh());
    await schema.restore();
    await database.query(sequences);
    return database.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#made)?.database.drop();
  }
}

async function makeFresh() {
  const database = await createTestDatabase();
  await (await openStoreAt(database.url)).close();
  const schema = await keepFresh(database);
  const rows = await database.query(
    "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'posthorn'",
  );
  const statements = rows.map(
    ({ sequencename, last_value: last }) =>
      `SELECT setval('posthorn.${String(sequencename)}', ${Number(last ?? 1)}, ${last !== null})`,
  );
  return { database, schema, sequences: statements.join(";") };
}

export function openStoreAt(url: string): Promise<Store> {
  return openPostgresStore({ url, now: start, masterKeyIds: { current: "test", previous: [] } });
}
