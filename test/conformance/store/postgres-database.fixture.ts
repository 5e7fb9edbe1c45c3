import { randomBytes } from "node:crypto";
import { userInfo } from "node:os";
import pg from "pg";

/** A separate database for one test file. It is dropped at the end, even if tests fail. */
export interface TestDatabase {
  readonly url: string;
  /** Runs statements as an administrator would. */
  query(sql: string): Promise<readonly Record<string, unknown>[]>;
  drop(): Promise<void>;
}

/** Creates a database on the test server. */
export async function createTestDatabase(template?: string): Promise<TestDatabase> {
  const server = await testServer();
  const name = `posthorn_test_${randomBytes(6).toString("hex")}`;
  await execute(server, `CREATE DATABASE ${name}${template === undefined ? "" : ` TEMPLATE ${template}`}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    query: (sql) => execute(url.href, sql),
    drop: async () => {
      await execute(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

let server: Promise<string> | null = null;

/**
 * The URL of a database on the test server. `POSTHORN_TEST_DATABASE_URL` is used if it is set, as the test runner does.
 * Otherwise the local server is used, with a user that can log in. Rejects if neither is available.
 */
export function testServer(): Promise<string> {
  server ??= findServer();
  return server;
}

async function findServer(): Promise<string> {
  const candidates = [
    process.env["POSTHORN_TEST_DATABASE_URL"],
    "postgres://postgres@127.0.0.1:5432/postgres",
    `postgres://${userInfo().username}@127.0.0.1:5432/postgres`,
  ].filter((url) => url !== undefined);
  let failure: unknown = null;
  for (const url of candidates) {
    try {
      await execute(url, "SELECT 1");
      return url;
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

async function execute(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
