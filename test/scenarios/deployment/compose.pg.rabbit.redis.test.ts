import { suite, test } from "node:test";
import { createTestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { ownPrefixes } from "../postgres/own-prefixes.fixture.ts";
import { assertServicesWork } from "./compose-services.fixture.ts";

const path = "deploy/compose.distributed.yaml";

suite(`services of ${path}`, () => {
  test("migrate exits, then every server is ready, delivers together with the others, and stops on request", async (t) => {
    const database = await createTestDatabase();
    t.after(() => database.drop());
    const prefixes = ownPrefixes();
    t.after(() => prefixes.remove());
    const { POSTHORN_QUEUE_URL: queueUrl, POSTHORN_REDIS_URL: redisUrl, ...names } = prefixes.env;
    await assertServicesWork(t, {
      path,
      urls: { database_url: database.url, queue_url: queueUrl ?? "", redis_url: redisUrl ?? "" },
      env: names,
      shows: /^posthorn_queue_connected 1\n[^]*^posthorn_shared_state_available 1$/m,
    });
  });
});
