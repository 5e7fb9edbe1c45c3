/** The API of the real server with PostgreSQL, with all roles in one process. */
import { after } from "node:test";
import { createTestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { apiConformance } from "./api.suite.ts";
import { openServer } from "./running-server.fixture.ts";

const database = await createTestDatabase();
after(() => database.drop());

const masterKey = Buffer.alloc(32, 7).toString("base64");
apiConformance(
  "postgres",
  () => openServer({ databaseUrl: database.url, masterKey }),
  "inputs that reach the store",
);
