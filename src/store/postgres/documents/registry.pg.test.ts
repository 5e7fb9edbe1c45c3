import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createTestDatabase,
  type TestDatabase,
} from "../../../../test/conformance/store/postgres-database.fixture.ts";
import type { Tenant } from "../../../ports/store/registry.ts";
import { openPostgresStore } from "../open.ts";

let database: TestDatabase;

before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

test("a tenant saved by a version without pools stays in the pool that ownership uses", async () => {
  const masterKeyIds = { current: "key-1", previous: [] };
  const store = await openPostgresStore({ url: database.url, now: Date.now(), masterKeyIds });
  try {
    const tenant: Tenant = {
      id: "acme",
      name: "acme",
      rateLimit: null,
      webhooksMax: null,
      workerPool: "big",
      createdAt: 1,
      updatedAt: 1,
    };
    await store.registry.saveTenant(tenant);
    const { workerPool: _, ...older } = tenant;
    await database.query(
      `INSERT INTO posthorn.tenants (id, document) VALUES ('acme', '${JSON.stringify(older)}')
       ON CONFLICT (id) DO UPDATE SET document = excluded.document`,
    );
    assert.deepEqual(await store.registry.tenants(), [tenant]);
  } finally {
    await store.close();
  }
});
