/** The API of the real server on PostgreSQL, all roles in one process. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { startPosthorn } from "../../../src/app/posthorn.ts";
import { resolveValues } from "../../../src/config/resolve.ts";
import { createTestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { agreeable } from "./agreeable-transport.ts";
import { apiConformance } from "./conformance.ts";

const database = await createTestDatabase();
after(() => database.drop());

apiConformance("postgres", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-api-"));
  const masterKey = Buffer.alloc(32, 7).toString("base64");
  const values = { dataDir, port: 0, logLevel: "error", databaseUrl: database.url, masterKey };
  const resolution = resolveValues(values);
  assert.equal(resolution.kind, "resolved");
  const running = await startPosthorn(resolution.settings, { transport: agreeable });
  assert.ok(running.url !== null);
  return {
    baseUrl: running.url,
    adminKey: running.adminKey,
    close: async () => {
      await running.stop();
      await rm(dataDir, { recursive: true });
    },
  };
});
