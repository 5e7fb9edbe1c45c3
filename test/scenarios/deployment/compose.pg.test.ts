import { suite, test } from "node:test";
import { createTestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { assertServicesWork } from "./compose-services.fixture.ts";

const path = "deploy/compose.postgres.yaml";

suite(`services of ${path}`, () => {
  test("migrate exits, then every server is ready, delivers together with the others, and stops on request", async (t) => {
    const database = await createTestDatabase();
    t.after(() => database.drop());
    await assertServicesWork(t, {
      path,
      urls: { database_url: database.url },
      shows: /^webhook_worker_pool_utilization/m,
    });
  });
});
