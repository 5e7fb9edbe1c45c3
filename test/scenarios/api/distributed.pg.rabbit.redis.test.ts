/**
 * The API of the real server with PostgreSQL, RabbitMQ and Redis, with all roles in one process. The suites that use
 * only the store run in postgres.pg.test.ts with the same store.
 */
import { after } from "node:test";
import { createTestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { ownPrefixes } from "../postgres/own-prefixes.fixture.ts";
import { apiConformance } from "./api.suite.ts";
import { openServer } from "./running-server.fixture.ts";

const database = await createTestDatabase();
const prefixes = ownPrefixes();
after(async () => {
  await prefixes.remove();
  await database.drop();
});

const masterKey = Buffer.alloc(32, 7).toString("base64");
apiConformance(
  "distributed",
  () => openServer({ databaseUrl: database.url, masterKey, ...prefixes.values }),
  "inputs that reach queue and shared state",
);
