import { randomUUID } from "node:crypto";
import pg from "pg";

/** A pool whose connections see an empty schema of their own and nothing else. */
export interface OwnSchema {
  readonly pool: pg.Pool;
  /** For another program that is to see the same. */
  readonly url: string;
  drop(): Promise<void>;
}

/** On the server that the environment names, else on the one of this machine. */
export async function openOwnSchema(): Promise<OwnSchema> {
  const connectionString =
    process.env["POSTHORN_TEST_DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/postgres";
  const schema = `receiver_${randomUUID().replaceAll("-", "")}`;
  // A statement that waits where it must not is an error and no hanging test.
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
