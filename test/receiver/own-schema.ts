import { randomUUID } from "node:crypto";
import pg from "pg";

/** A pool whose connections see only a separate, empty schema. */
export interface OwnSchema {
  readonly pool: pg.Pool;
  /** For another program that must see the same schema. */
  readonly url: string;
  drop(): Promise<void>;
}

/** On the server in the environment, otherwise on this machine's. */
export async function openOwnSchema(): Promise<OwnSchema> {
  const connectionString =
    process.env["POSTHORN_TEST_DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/postgres";
  const schema = `receiver_${randomUUID().replaceAll("-", "")}`;
  // A statement that waits unexpectedly is an error, not a hanging test.
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
