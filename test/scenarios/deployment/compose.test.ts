import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { parseMasterKey } from "../../../src/adapters/system/master-key.ts";
import { assertFits, assertPinned } from "./container-rules.ts";
import { composeContainers, readYaml } from "./deployment-files.ts";
import { SecretFiles } from "./secret-files.ts";

const embedded = "deploy/compose.embedded.yaml";
const shared = "deploy/compose.postgres.yaml";

suite("compose files", () => {
  for (const path of [embedded, shared]) {
    test(`${path}: every container fits the program and its settings`, () => {
      using secrets = new SecretFiles();
      for (const container of composeContainers(path)) {
        assertPinned(container.image, container.where);
        if (container.image.startsWith("posthorn:")) assertFits(container, secrets);
      }
    });

    test(`${path}: ports reach only this machine, and what is not there is not named`, () => {
      const [file] = readYaml(path);
      for (const [name, service] of Object.entries(file?.["services"] ?? {})) {
        for (const port of service["ports"] ?? []) assert.match(port, /^127\.0\.0\.1:[\d-]+:8080$/, name);
        for (const kind of ["networks", "secrets"])
          for (const each of service[kind] ?? []) assert.ok(each in (file?.[kind] ?? {}), `${name}: ${each}`);
        for (const volume of service["volumes"] ?? [])
          assert.ok((volume.split(":")[0] ?? "") in (file?.["volumes"] ?? {}), `${name}: ${volume}`);
        for (const other of Object.keys(service["depends_on"] ?? {}))
          assert.ok(other in (file?.["services"] ?? {}), `${name} depends on ${other}`);
        assert.ok(service["restart"] !== undefined, `${name} has a restart policy`);
        for (const setting of Object.keys(service["environment"] ?? {}))
          assert.doesNotMatch(
            setting,
            /(PASSWORD|KEY|DATABASE_URL)$/,
            `${name}: ${setting} comes from a file`,
          );
      }
    });
  }

  test("embedded: one container owns the volume", () => {
    const [file] = readYaml(embedded);
    assert.deepEqual(Object.keys(file?.["services"] ?? {}), ["posthorn"]);
    assert.deepEqual(file?.["services"]?.["posthorn"]?.["volumes"], ["data:/data"]);
  });

  test("PostgreSQL: all roles are there, each process answers probes, and the database has no way out", () => {
    const [file] = readYaml(shared);
    const roles = composeContainers(shared).map(({ env }) => env["POSTHORN_ROLES"]);
    assert.deepEqual(roles, [undefined, undefined, "api", "api,worker", "api,scheduler"]);
    const { postgres, migrate, ...servers } = file?.["services"] ?? {};
    assert.equal(file?.["networks"]?.["database"]?.["internal"], true);
    assert.deepEqual(postgres?.["networks"], ["database"]);
    assert.equal(postgres?.["ports"], undefined);
    assert.equal(migrate?.["restart"], "no");
    for (const service of Object.values<Record<string, unknown>>(servers))
      assert.deepEqual(service["depends_on"], {
        migrate: { condition: "service_completed_successfully" },
        postgres: { condition: "service_healthy" },
      });
  });

  test("secrets: the script makes what the files name, for the owner alone, and never anew", () => {
    using secrets = new SecretFiles();
    const [file] = readYaml(shared);
    const named = Object.values(file?.["secrets"] ?? {}).map((secret) => secret["file"]);
    assert.deepEqual(
      named.toSorted(),
      secrets.names().map((name) => `./secrets/${name}`),
    );
    assert.equal(statSync(secrets.path).mode & 0o777, 0o700);
    for (const name of secrets.names()) assert.equal(statSync(join(secrets.path, name)).mode & 0o777, 0o444);
    assert.ok(parseMasterKey(secrets.read("master_key")) !== null);
    const url = new URL(secrets.read("database_url"));
    assert.equal(url.password, secrets.read("database_password"));
    const settings = composeContainers(shared).find(({ where }) => where.endsWith("postgres"))?.env;
    assert.equal(url.username, settings?.["POSTGRES_USER"]);
    assert.equal(url.pathname, `/${settings?.["POSTGRES_DB"]}`);
    assert.equal(url.hostname, "postgres");
    const before = secrets.names().map((name) => secrets.read(name));
    secrets.make();
    assert.deepEqual(
      secrets.names().map((name) => secrets.read(name)),
      before,
    );
  });
});
