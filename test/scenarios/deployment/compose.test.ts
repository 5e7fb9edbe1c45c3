import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { parseMasterKey } from "../../../src/adapters/system/master-key.ts";
import { assertFits, assertPinned } from "./container-rules.ts";
import { composeContainers, readOnlyYaml } from "./deployment-files.ts";
import { SecretFiles } from "./secret-files.ts";

const embedded = "deploy/compose.embedded.yaml";
const shared = "deploy/compose.postgres.yaml";

suite("compose files", () => {
  for (const path of [embedded, shared]) {
    test(`${path}: every container fits the program and its settings`, () => {
      using secrets = new SecretFiles();
      for (const container of composeContainers(path)) {
        assertPinned(container);
        if (container.image.startsWith("posthorn:")) assertFits(container, secrets);
      }
    });

    test(`${path}: ports reach only this machine, and what is named is there`, () => {
      const file = readOnlyYaml(path);
      for (const [name, service] of file.at("services").entries) {
        for (const port of service.at("ports").texts) assert.match(port, /^127\.0\.0\.1:[\d-]+:8080$/, name);
        for (const kind of ["networks", "secrets"])
          for (const each of service.at(kind).texts) assert.ok(file.at(kind).names.includes(each), each);
        for (const volume of service.at("volumes").texts)
          assert.ok(file.at("volumes").names.includes(volume.split(":")[0] ?? ""), volume);
        for (const other of service.at("depends_on").names)
          assert.ok(file.at("services", other).isThere, `${name} depends on ${other}`);
        assert.ok(service.at("restart").isThere, `${name} has a restart policy`);
        for (const setting of service.at("environment").names)
          assert.doesNotMatch(setting, /(PASSWORD|KEY|DATABASE_URL)$/, `${setting} comes from a file`);
      }
    });
  }

  test("embedded: one container owns the volume", () => {
    const services = readOnlyYaml(embedded).at("services");
    assert.deepEqual(services.names, ["posthorn"]);
    assert.deepEqual(services.at("posthorn", "volumes").texts, ["data:/data"]);
  });

  test("PostgreSQL: every role is there, each server answers probes, and the database has no way out", () => {
    const file = readOnlyYaml(shared);
    const services = file.at("services");
    assert.deepEqual(services.names, ["postgres", "migrate", "api", "worker", "scheduler"]);
    const roles = composeContainers(shared).map(({ env }) => env["POSTHORN_ROLES"]);
    assert.deepEqual(roles, [undefined, undefined, "api", "api,worker", "api,scheduler"]);
    assert.equal(file.at("networks", "database", "internal").value, true);
    assert.deepEqual(services.at("postgres", "networks").texts, ["database"]);
    assert.ok(!services.at("postgres", "ports").isThere);
    assert.equal(services.at("migrate", "restart").text, "no");
    for (const name of ["api", "worker", "scheduler"])
      assert.deepEqual(services.at(name, "depends_on").value, {
        migrate: { condition: "service_completed_successfully" },
        postgres: { condition: "service_healthy" },
      });
  });

  test("secrets: the script makes what the files name, for the owner alone, and never anew", () => {
    using secrets = new SecretFiles();
    const named = readOnlyYaml(shared)
      .at("secrets")
      .entries.map(([, secret]) => secret.at("file").text);
    assert.deepEqual(
      named.toSorted(),
      secrets.names().map((name) => `./secrets/${name}`),
    );
    assert.equal(statSync(secrets.path).mode & 0o777, 0o700);
    for (const name of secrets.names())
      assert.equal(statSync(join(secrets.path, name)).mode & 0o777, 0o444, name);
    assert.ok(parseMasterKey(secrets.read("master_key")) !== null);
    const url = new URL(secrets.read("database_url"));
    assert.equal(url.password, secrets.read("database_password"));
    const settings = readOnlyYaml(shared).at("services", "postgres", "environment");
    assert.equal(url.username, settings.at("POSTGRES_USER").text);
    assert.equal(url.pathname, `/${settings.at("POSTGRES_DB").text}`);
    assert.equal(url.hostname, "postgres");
    const contents = () => secrets.names().map((name) => secrets.read(name));
    const before = contents();
    secrets.make();
    assert.deepEqual(contents(), before);
  });
});
