import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { parseMasterKey } from "../../../src/system/keys/key-file.ts";
import { assertFits, assertPinned } from "./container-rules.fixture.ts";
import { composeContainers, readOnlyYaml } from "./deployment-files.fixture.ts";
import { SecretFiles } from "./secret-files.fixture.ts";

const embedded = "deploy/compose.embedded.yaml";
const shared = "deploy/compose.postgres.yaml";
const distributed = "deploy/compose.distributed.yaml";

suite("compose files", () => {
  for (const path of [embedded, shared, distributed]) {
    test(`${path}: every container matches the program and its settings`, () => {
      using secrets = new SecretFiles();
      for (const container of composeContainers(path)) {
        assertPinned(container);
        if (container.image.startsWith("posthorn:")) assertFits(container, secrets);
      }
    });

    test(`${path}: ports are open only to this machine, and every named file exists`, () => {
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
          assert.doesNotMatch(
            setting,
            /(PASSWORD|KEY|(DATABASE|QUEUE|REDIS)_URL)$/,
            `${setting} comes from a file`,
          );
      }
    });
  }

  test("embedded: one container owns the volume", () => {
    const services = readOnlyYaml(embedded).at("services");
    assert.deepEqual(services.names, ["posthorn"]);
    assert.deepEqual(services.at("posthorn", "volumes").texts, ["data:/data"]);
  });

  for (const { path, services: wanted, inside } of [
    { path: shared, services: ["postgres"], inside: "database" },
    { path: distributed, services: ["postgres", "rabbitmq", "redis"], inside: "inside" },
  ]) {
    test(`${path}: every role is there, each server answers probes, and their services have no internet access`, () => {
      const file = readOnlyYaml(path);
      const services = file.at("services");
      assert.deepEqual(services.names, [...wanted, "migrate", "api", "worker", "scheduler", "gateway"]);
      const roles = composeContainers(path).map(({ env }) => env["POSTHORN_ROLES"]);
      assert.deepEqual(roles, [
        ...wanted.map(() => undefined),
        undefined,
        "api",
        "worker",
        "scheduler",
        "gateway",
      ]);
      assert.equal(file.at("networks", inside, "internal").value, true);
      for (const name of wanted) {
        assert.deepEqual(services.at(name, "networks").texts, [inside]);
        assert.ok(services.at(name, "healthcheck", "test").isThere, name);
      }
      for (const [name, service] of services.entries)
        assert.equal(
          service.at("ports").isThere,
          ["api", "gateway"].includes(name),
          `${name} publishes ports`,
        );
      // The scheduler sends email and notifies paging services.
      for (const name of ["api", "worker", "scheduler", "gateway"])
        assert.deepEqual(services.at(name, "networks").texts, [inside, "outside"], name);
      assert.equal(services.at("migrate", "restart").text, "no");
      for (const name of ["api", "worker", "scheduler", "gateway"]) {
        assert.ok(!services.at(name, "healthcheck").isThere, `${name} has the health check of the image`);
        assert.deepEqual(services.at(name, "depends_on").value, {
          migrate: { condition: "service_completed_successfully" },
          ...Object.fromEntries(wanted.map((each) => [each, { condition: "service_healthy" }])),
        });
      }
      assert.equal(services.at("worker", "deploy", "replicas").value, 2);
    });
  }

  test("distributed: no container is root or writes to its image, including third-party ones", () => {
    for (const [name, service] of readOnlyYaml(distributed).at("services").entries) {
      assert.match(service.at("user").text, /^[1-9]\d*:[1-9]\d*$/, name);
      assert.equal(service.at("read_only").value, true, name);
      assert.deepEqual(service.at("cap_drop").texts, ["ALL"], name);
      assert.deepEqual(service.at("security_opt").texts, ["no-new-privileges:true"], name);
      assert.ok(service.at("deploy", "resources", "limits", "memory").isThere, name);
    }
  });

  test("secrets: the script creates the named files, for the owner only, and never overwrites them", () => {
    using secrets = new SecretFiles();
    const named = new Set(
      [shared, distributed].flatMap((path) =>
        readOnlyYaml(path)
          .at("secrets")
          .entries.map(([name, secret]) => {
            assert.equal(secret.at("file").text, `./secrets/${name}`);
            return name;
          }),
      ),
    );
    // Each password is created in its own file, in addition to the files that combine it with other data.
    const parts = secrets.names().filter((name) => !named.has(name));
    assert.deepEqual(parts, ["queue_password", "redis_password"]);
    for (const name of named) assert.ok(secrets.names().includes(name), name);
    assert.equal(statSync(secrets.path).mode & 0o777, 0o700);
    for (const name of secrets.names())
      assert.equal(statSync(join(secrets.path, name)).mode & 0o777, 0o444, name);
    assert.ok(parseMasterKey(secrets.read("master_key")) !== null);
    const contents = () => secrets.names().map((name) => secrets.read(name));
    const before = contents();
    secrets.make();
    assert.deepEqual(contents(), before);
  });

  test("secrets: addresses lead to the services, with the credentials that these require", () => {
    using secrets = new SecretFiles();
    const database = new URL(secrets.read("database_url"));
    assert.equal(database.password, secrets.read("database_password"));
    const settings = readOnlyYaml(shared).at("services", "postgres", "environment");
    assert.equal(database.username, settings.at("POSTGRES_USER").text);
    assert.equal(database.pathname, `/${settings.at("POSTGRES_DB").text}`);
    const queue = new URL(secrets.read("queue_url"));
    const { username, password, pathname } = queue;
    assert.equal(
      secrets.read("rabbitmq.conf"),
      `default_user = ${username}\ndefault_pass = ${password}\ndefault_vhost = ${pathname.slice(1)}`,
    );
    const redis = new URL(secrets.read("redis_url"));
    assert.equal(secrets.read("redis.conf"), `requirepass ${redis.password}`);
    const services = readOnlyYaml(distributed).at("services").names;
    for (const { hostname } of [database, queue, redis]) assert.ok(services.includes(hostname), hostname);
    using elsewhere = new SecretFiles(["db.example.com", "mq.example.com", "cache.example.com"]);
    const hosts = ["database_url", "queue_url", "redis_url"].map(
      (name) => new URL(elsewhere.read(name)).hostname,
    );
    assert.deepEqual(hosts, ["db.example.com", "mq.example.com", "cache.example.com"]);
  });
});
