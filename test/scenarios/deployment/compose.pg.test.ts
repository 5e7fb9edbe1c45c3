/** The services of deploy/compose.postgres.yaml as processes: what each gets from the file, on a real PostgreSQL. */
import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import { createTestDatabase } from "../../conformance/store/postgres-database.fixture.ts";
import { posthorn } from "../cli/command-line.ts";
import { composeContainers, root } from "./deployment-files.ts";
import { imageEnvironment } from "./dockerfile.ts";
import { RunningContainer } from "./running-container.ts";
import { SecretFiles } from "./secret-files.ts";

const graceMs = Number(imageEnvironment()["POSTHORN_SHUTDOWN_GRACE_MS"]);

suite("the services of deploy/compose.postgres.yaml", () => {
  test("migrate ends, then every server is ready, delivers together with the others, and ends when told", async (t) => {
    const database = await createTestDatabase();
    t.after(() => database.drop());
    using secrets = new SecretFiles();
    chmodSync(join(secrets.path, "database_url"), 0o600);
    writeFileSync(join(secrets.path, "database_url"), database.url);
    const receiver = await startReceiver();
    t.after(() => receiver.close());
    const containers = composeContainers("deploy/compose.postgres.yaml");
    const environmentOf = (name: string): Record<string, string> => ({
      ...imageEnvironment(),
      ...containers.find(({ where }) => where.endsWith(`: ${name}`))?.env,
      ...mounted(secrets),
      // A place that cannot be made: nothing may need it.
      POSTHORN_DATA_DIR: "/proc/posthorn",
      POSTHORN_EGRESS_ALLOW: "127.0.0.0/8",
      POSTHORN_EGRESS_ALLOW_HTTP: "true",
    });
    const { POSTHORN_ADMIN_KEY_FILE: _, ...forMigration } = environmentOf("migrate");
    const migrated = await posthorn(["migrate"], { env: forMigration });
    assert.equal(migrated.status, 0, migrated.stderr);
    assert.match(migrated.stdout, /^applied 1 /m);

    const command = [process.execPath, join(root, "src/cli/main.ts"), "serve"];
    const start = async (name: string): Promise<RunningContainer> => {
      const started = await RunningContainer.start({ command, env: environmentOf(name) });
      t.after(() => started.kill());
      return started;
    };
    const running = await Promise.all(["api", "worker", "worker", "scheduler"].map(start));
    for (const container of running) await container.assertAnswersProbes();
    const [api] = running;
    const env = { POSTHORN_URL: api?.url ?? "", POSTHORN_KEY: secrets.read("admin_key") };
    const created = await posthorn(["webhooks", "create", receiver.url("/"), "--events", "*"], { env });
    assert.equal(created.status, 0, created.stderr);
    const published = await posthorn(["publish", "order.paid"], { env });
    assert.equal(published.status, 0, published.stderr);
    await receiver.waitForRequests(1, 20_000);
    await Promise.all(running.map((container) => container.assertEndsWithin(graceMs)));
  });
});

/** The same files where this machine has them. */
function mounted(secrets: SecretFiles): Record<string, string> {
  return Object.fromEntries(
    ["database_url", "master_key", "admin_key"].map((name) => [
      `POSTHORN_${name.toUpperCase()}_FILE`,
      join(secrets.path, name),
    ]),
  );
}
