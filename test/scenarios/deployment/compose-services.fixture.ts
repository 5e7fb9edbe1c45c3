/** The services of a compose file, run as processes against real servers with the settings from the file. */
import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import { posthorn } from "../cli/command-line.fixture.ts";
import { composeContainers, root } from "./deployment-files.fixture.ts";
import { imageEnvironment } from "./dockerfile.fixture.ts";
import { RunningContainer } from "./running-container.fixture.ts";
import { SecretFiles } from "./secret-files.fixture.ts";

const graceMs = Number(imageEnvironment()["POSTHORN_SHUTDOWN_GRACE_MS"]);
const command = [process.execPath, join(root, "src/cli/main.ts"), "serve"];

export interface ComposeTrial {
  readonly path: string;
  /** Server URLs, by the name of the secret that contains them. */
  readonly urls: Readonly<Record<string, string>>;
  /** Variables in addition to those in the file. */
  readonly env?: Readonly<Record<string, string>>;
  /** A pattern for a line that the metrics of each server must contain. */
  readonly shows: RegExp;
}

/** Applies the migrations, starts every role, delivers an event, and stops all roles in order. */
export async function assertServicesWork(t: TestContext, trial: ComposeTrial): Promise<void> {
  using secrets = new SecretFiles();
  for (const [name, url] of Object.entries(trial.urls)) {
    chmodSync(join(secrets.path, name), 0o600);
    writeFileSync(join(secrets.path, name), url);
  }
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const containers = composeContainers(trial.path);
  const environmentOf = (service: string): Record<string, string> => {
    const own = containers.find(({ where }) => where.endsWith(`: ${service}`))?.env ?? {};
    return { ...imageEnvironment(), ...withSecretsOf(secrets, own), ...surroundings, ...trial.env };
  };
  const migrated = await posthorn(["migrate"], { env: environmentOf("migrate") });
  assert.equal(migrated.status, 0, migrated.stderr);
  assert.match(migrated.stdout, /^applied 1 /m);

  // Ends the processes before the caller removes the servers' data.
  using cleanup = new DisposableStack();
  const start = async (service: string): Promise<RunningContainer> => {
    const started = await RunningContainer.start({ command, env: environmentOf(service) });
    cleanup.defer(() => started.kill());
    return started;
  };
  const running = await Promise.all(["api", "worker", "worker", "scheduler", "gateway"].map(start));
  for (const container of running) {
    await container.assertAnswersProbes();
    assert.match(await container.metrics(), trial.shows);
  }
  const [api] = running;
  const env = { POSTHORN_URL: api?.url ?? "", POSTHORN_KEY: secrets.read("admin_key") };
  const created = await posthorn(["webhooks", "create", receiver.url("/"), "--events", "*"], { env });
  assert.equal(created.status, 0, created.stderr);
  const published = await posthorn(["publish", "order.paid"], { env });
  assert.equal(published.status, 0, published.stderr);
  await receiver.waitForRequests(1);
  await Promise.all(running.map((container) => container.assertEndsWithin(graceMs)));
}

const surroundings = {
  // This path cannot be created, which proves that the services do not need a data folder.
  POSTHORN_DATA_DIR: "/proc/posthorn",
  POSTHORN_EGRESS_ALLOW: "127.0.0.0/8",
  POSTHORN_EGRESS_ALLOW_HTTP: "true",
};

/** Replaces the paths of secret files with their paths on this machine. */
function withSecretsOf({ path }: SecretFiles, env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, value.replace(/^\/run\/secrets\b/, path)]),
  );
}
