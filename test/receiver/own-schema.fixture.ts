import { randomUUID } from "node:crypto";
import pg from "pg";
import { testServer } from "../conformance/store/postgres-database.fixture.ts";

/** A pool whose connections see only a separate, empty schema. */
export interface OwnSchema {
  readonly pool: pg.Pool;
  /** The URL for a separate program that must use the same schema. */
  readonly url: string;
  drop(): Promise<void>;
}

export async function openOwnSchema(): Promise<OwnSchema> {
  const connectionString = await testServer();
  const schema = `receiver_${randomUUID().replaceAll("-", "")}`;
  // A statement that waits unexpectedly must fail instead of blocking the test.
  const options = `-c search_path=${schema} -c lock_timeout=3000`;
  const pool = new pg.Pool({ connectionString, options, max: 5 });
  await pool.query(`CREATE SCHEMA ${schema}`);
  const url = new URL(connectionString);
  url.searchParams.set("options", options);
  return {
    pool,
    url: url.href,
    drop: async () => {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await pool.end();
    },
  };
}
