import assert from "node:assert/strict";
import { BlockList, isIP, isIPv6 } from "node:net";
import { basename } from "node:path";
import { suite, test } from "node:test";
import { Topology } from "../../../src/queue/rabbitmq/topology.ts";
import { resolveSettings } from "../../../src/config/resolve.ts";
import { addressBoundaries } from "../../../src/domain/egress/address-policy.fixture.ts";
import { priorities } from "../../../src/domain/delivery.ts";
import { assertFits, assertPinned } from "./container-rules.fixture.ts";
import { readOnlyYaml, readText, workloadContainers, yamlFilesBelow } from "./deployment-files.fixture.ts";
import { manifestsOf, readKustomization } from "./kustomization.fixture.ts";
import { SecretFiles } from "./secret-files.fixture.ts";
import type { YamlNode } from "./yaml-node.fixture.ts";

const embedded = "deploy/kubernetes/embedded";
const shared = "deploy/kubernetes/postgres";
const distributed = "deploy/kubernetes/distributed";
/** Files that are deliberately not part of the kustomization, and are applied manually. */
const apart = ["kustomization.yaml", "migrate.yaml", "secret.template.yaml", "keda.yaml"];
/** IPv4-mapped IPv6 addresses, which no packet contains, and addresses with a zone. */
const mapped = /^(::|(0+:){5})ffff:|%/i;
const { version } = JSON.parse(readText("package.json")) as { readonly version: string };

const manifestsIn = (folder: string): readonly YamlNode[] =>
  readKustomization(folder).manifests.map(({ node }) => node);
const kindsOf = (folder: string, kind: string): readonly YamlNode[] =>
  manifestsIn(folder).filter((manifest) => manifest.at("kind").text === kind);
const workloads = (folder: string): readonly YamlNode[] =>
  manifestsIn(folder).filter((manifest) => manifest.at("spec", "template").isThere);
const componentOf = (labels: YamlNode): string => labels.at("app.kubernetes.io/component").text;
const nameOf = (manifest: YamlNode): string => manifest.at("metadata", "name").text;
const namedIn = (
  folder: string,
  { kind, name }: { readonly kind: string; readonly name: string },
): YamlNode => {
  const found = kindsOf(folder, kind).find((each) => nameOf(each) === name);
  assert.ok(found !== undefined, `${folder}: ${kind} ${name}`);
  return found;
};
const containersIn = (folder: string) => {
  const { manifests, maps } = readKustomization(folder);
  return manifests.flatMap((manifest) => workloadContainers(manifest, maps));
};

for (const folder of [embedded, shared, distributed]) {
  suite(folder, () => {
    test("the kustomization names every manifest, and the image of this version", () => {
      const files = yamlFilesBelow(folder).map((path) => basename(path));
      const { named } = readKustomization(folder);
      assert.deepEqual(named.toSorted(), files.filter((name) => !apart.includes(name)).toSorted());
      for (const { image, where } of containersIn(folder))
        assert.equal(image, `registry.example.com/posthorn:${version}`, where);
    });

    test("every container matches the program and its settings", () => {
      using secrets = new SecretFiles();
      const byHand = yamlFilesBelow(folder).filter((path) => path.endsWith("/migrate.yaml"));
      const migrations = byHand.flatMap(manifestsOf).flatMap((each) => workloadContainers(each, new Map()));
      const containers = [...containersIn(folder), ...migrations];
      assert.ok(containers.length > 0);
      for (const container of containers) {
        assertPinned(container);
        assertFits(container, secrets);
      }
    });

    test("pods are not root, get only what they request, and mount their volumes", () => {
      const byHand = yamlFilesBelow(folder).filter((path) => path.endsWith("/migrate.yaml"));
      const migrations = byHand.flatMap(manifestsOf).map(({ node }) => node);
      for (const workload of [...workloads(folder), ...migrations]) {
        const kind = workload.at("kind").text;
        const pod = workload.at("spec", "template", "spec");
        assert.equal(pod.at("securityContext", "runAsNonRoot").value, true, kind);
        assert.equal(pod.at("securityContext", "runAsUser").value, 1000, kind);
        assert.equal(pod.at("securityContext", "seccompProfile", "type").text, "RuntimeDefault", kind);
        assert.equal(pod.at("automountServiceAccountToken").value, false, kind);
        assert.equal(pod.at("enableServiceLinks").value, false, kind);
        const claims = workload.at("spec", "volumeClaimTemplates").items.map((claim) => claim.at("metadata"));
        const volumes = [...pod.at("volumes").items, ...claims].map((volume) => volume.at("name").text);
        for (const container of pod.at("containers").items) {
          assert.equal(container.at("securityContext", "allowPrivilegeEscalation").value, false, kind);
          const mounts = container.at("volumeMounts").items;
          assert.deepEqual(
            mounts.map((mount) => mount.at("name").text),
            volumes,
            kind,
          );
        }
      }
    });

    test("servers are probed where they listen: alive, ready, and with time to migrate", () => {
      const servers = workloads(folder);
      assert.ok(servers.length > 0);
      for (const server of servers) {
        const container = server.at("spec", "template", "spec", "containers", 0);
        assert.deepEqual(container.at("ports").value, [{ name: "http", containerPort: 8080 }]);
        const probes = ["startupProbe", "livenessProbe", "readinessProbe"].map((name) => container.at(name));
        assert.deepEqual(
          probes.map((probe) => probe.at("httpGet").value),
          ["/livez", "/livez", "/readyz"].map((path) => ({ path, port: "http" })),
        );
        const startup = container.at("startupProbe");
        assert.ok(
          Number(startup.at("periodSeconds").text) * Number(startup.at("failureThreshold").text) >= 300,
        );
      }
    });

    test("every pod selector matches pods, and each service leads to the role that serves it", () => {
      const components = workloads(folder).map((workload) => componentOf(workload.at("metadata", "labels")));
      for (const workload of workloads(folder)) {
        const label = componentOf(workload.at("spec", "template", "metadata", "labels"));
        assert.equal(label, componentOf(workload.at("metadata", "labels")));
        const selector = workload.at("spec", "selector");
        if (selector.isThere) assert.equal(componentOf(selector.at("matchLabels")), label);
      }
      const policies = ["NetworkPolicy", "PodDisruptionBudget"].flatMap((kind) => kindsOf(folder, kind));
      for (const policy of policies)
        for (const component of selectedComponents(policy))
          assert.ok(components.includes(component), `${policy.at("metadata", "name").text}: ${component}`);
      const services = kindsOf(folder, "Service").map((service) => [
        nameOf(service),
        componentOf(service.at("spec", "selector")),
      ]);
      const expected =
        folder === embedded
          ? [["posthorn", "embedded"]]
          : [
              ["posthorn", "api"],
              ["posthorn-gateway", "gateway"],
            ];
      assert.deepEqual(services, expected);
    });

    test("every role that sends to the internet may do so, and only serving roles accept requests", () => {
      const policies = kindsOf(folder, "NetworkPolicy");
      const reached = (name: string): readonly string[] =>
        policies.filter((policy) => nameOf(policy).endsWith(name)).flatMap(selectedComponents);
      // Workers deliver, API processes verify webhooks, the scheduler sends email and notifies paging services, and the
      // gateway forwards.
      const senders = folder === embedded ? ["embedded"] : ["api", "worker", "scheduler", "gateway"];
      assert.deepEqual(reached("-internet"), senders);
      const servers = folder === embedded ? ["embedded"] : ["api", "gateway"];
      assert.deepEqual(reached("-clients"), servers);
    });

    test("network egress is allowed to exactly the addresses that the egress guard calls public", () => {
      const policy = kindsOf(folder, "NetworkPolicy").find((each) =>
        each.at("metadata", "name").text.endsWith("-internet"),
      );
      const blocks = (policy?.at("spec", "egress", 0, "to").items ?? []).map((to) => to.at("ipBlock"));
      assert.equal(blocks.length, 2);
      const allows = (address: string): boolean =>
        blocks.some(
          (block) =>
            isIn({ address, cidr: block.at("cidr").text }) &&
            !block.at("except").texts.some((cidr) => isIn({ address, cidr })),
        );
      const judged = addressBoundaries.flatMap(([addressClass, ...addresses]) =>
        addresses
          .filter((address) => isIP(address) !== 0 && !mapped.test(address) && addressClass !== "isatap")
          .map((address) => ({ address, isPublic: addressClass === "public" })),
      );
      assert.ok(judged.length > 80, `only ${judged.length} addresses`);
      for (const { address, isPublic } of judged) assert.equal(allows(address), isPublic, address);
    });
  });
}

test("kubernetes, embedded: one replica, on a volume that one pod may use", () => {
  const [set] = kindsOf(embedded, "StatefulSet");
  assert.ok(set !== undefined);
  assert.equal(set.at("spec", "replicas").value, 1);
  const modes = set.at("spec", "volumeClaimTemplates", 0, "spec", "accessModes");
  assert.deepEqual(modes.texts, ["ReadWriteOncePod"]);
});

for (const folder of [shared, distributed]) {
  suite(`${folder}, several processes`, () => {
    test("each role has its processes, and no service exists only for probes", () => {
      const roles = Object.fromEntries(
        containersIn(folder).map(({ where, env }) => [where.split(": ")[1], env["POSTHORN_ROLES"]]),
      );
      assert.deepEqual(roles, {
        "posthorn-api": "api",
        "posthorn-worker": "worker",
        "posthorn-scheduler": "scheduler",
        "posthorn-gateway": "gateway",
        ...(folder === distributed && { "posthorn-worker-bulk": "worker" }),
      });
    });

    test("each pod belongs to one deployment and has one disruption budget", () => {
      const budgets = kindsOf(folder, "PodDisruptionBudget");
      for (const workload of workloads(folder)) {
        const labels = workload.at("spec", "template", "metadata", "labels");
        const selects = (other: YamlNode): boolean =>
          other
            .at("spec", "selector", "matchLabels")
            .entries.every(([name, value]) => labels.at(name).text === value.text);
        assert.deepEqual(workloads(folder).filter(selects).map(nameOf), [nameOf(workload)]);
        assert.deepEqual(budgets.filter(selects).map(nameOf), [nameOf(workload)]);
      }
    });

    test("WDS-219 workers are scaled by metrics that the program has, each pool by its own", () => {
      const gauges = readText("src/system/telemetry/gauges.ts");
      const rules = [shared, folder].map((each) => readText(`${each}/autoscaling.yaml`)).join("\n");
      for (const [name] of rules.matchAll(/(webhook|posthorn)_(queue|worker)_[a-z_]+/g))
        assert.ok(gauges.includes(`"${name}"`), name);
      const autoscalers = kindsOf(folder, "HorizontalPodAutoscaler");
      assert.equal(autoscalers.length, folder === distributed ? 2 : 1);
      for (const autoscaler of autoscalers) {
        const ref = autoscaler.at("spec", "scaleTargetRef");
        const target = namedIn(folder, { kind: ref.at("kind").text, name: ref.at("name").text });
        assert.ok(!target.at("spec", "replicas").isThere, "applying it again must not undo the autoscaler");
        const metrics = autoscaler.at("spec", "metrics").items;
        assert.equal(metrics.at(-1)?.at("resource", "name").text, "cpu");
        const external = metrics.slice(0, -1).map((metric) => metric.at("external", "metric"));
        assert.ok(external.length > 0);
        for (const metric of external) {
          assert.ok(rules.includes(`name: { as: ${metric.at("name").text} }`), metric.at("name").text);
          const pool = metric.at("selector", "matchLabels", "pool");
          if (pool.isThere) assert.equal(pool.text, poolOf(folder, nameOf(target)));
        }
      }
    });

    test("the template of the secret is complete, and rejected unchanged", () => {
      using secrets = new SecretFiles();
      const settings = readKustomization(folder).maps.get("posthorn") ?? {};
      const wanted = Object.values(settings).filter((value) => value.startsWith("/run/secrets/"));
      const text = readText(`${folder}/secret.template.yaml`);
      const template = readOnlyYaml(`${folder}/secret.template.yaml`).at("stringData");
      assert.deepEqual(template.names.toSorted(), wanted.map((path) => basename(path)).toSorted());
      for (const name of template.names) {
        assert.ok(secrets.names().includes(name), name);
        assert.ok(text.includes(`--from-file=deploy/secrets/${name}`), `${name} is not in the command`);
      }
      const readFile = (path: string): string => template.at(basename(path)).text;
      const resolution = resolveSettings({ flags: {}, env: settings, readFile });
      assert.ok(resolution.kind === "refused", "nobody runs with the key that everybody knows");
      assert.match(resolution.problems.join(), /POSTHORN_ADMIN_KEY_FILE.*at least 24/);
    });

    test("network egress is allowed to the services' addresses", () => {
      using secrets = new SecretFiles();
      const ports = kindsOf(folder, "NetworkPolicy")
        .filter(
          (policy) => policy.at("spec", "podSelector", "matchLabels", "app.kubernetes.io/part-of").isThere,
        )
        .flatMap((policy) => policy.at("spec", "egress").items)
        .flatMap((rule) => rule.at("ports").items.map((port) => port.at("port").text));
      const urls = ["database_url", ...(folder === distributed ? ["queue_url", "redis_url"] : [])];
      for (const name of urls) assert.ok(ports.includes(new URL(secrets.read(name)).port), name);
    });
  });
}

test("kubernetes, distributed: the base has no queue, and the pool of the example is not a default", () => {
  const queueOf = (folder: string) =>
    readKustomization(folder).maps.get("posthorn")?.["POSTHORN_QUEUE_URL_FILE"];
  assert.equal(queueOf(shared), undefined);
  assert.equal(queueOf(distributed), "/run/secrets/posthorn/queue_url");
  const labelled = workloads(distributed).filter(
    (workload) => workload.at("metadata", "labels", "posthorn-pool").isThere,
  );
  for (const workload of labelled)
    assert.equal(
      workload.at("metadata", "labels", "posthorn-pool").text,
      poolOf(distributed, nameOf(workload)),
    );
});

test("WDS-219 kubernetes, distributed: KEDA queries the queues that the program declares", () => {
  const [authentication, scaled, ...more] = manifestsOf(`${distributed}/keda.yaml`).map(({ node }) => node);
  assert.ok(authentication !== undefined && scaled !== undefined && more.length === 0);
  const [host] = authentication.at("spec", "secretTargetRef").items;
  const template = readOnlyYaml(`${distributed}/secret.template.yaml`);
  assert.equal(host?.at("name").text, nameOf(template));
  assert.ok(template.at("stringData").names.includes(host?.at("key").text ?? ""));
  const target = scaled.at("spec", "scaleTargetRef", "name").text;
  namedIn(distributed, { kind: "Deployment", name: target });
  const prefix = readKustomization(distributed).maps.get("posthorn")?.["POSTHORN_QUEUE_PREFIX"] ?? "";
  const topology = new Topology({ prefix, clock: neverAsked, log: neverAsked });
  const triggers = scaled.at("spec", "triggers").items.filter((each) => each.at("type").text === "rabbitmq");
  assert.deepEqual(
    triggers.map((trigger) => trigger.at("metadata", "queueName").text),
    priorities.map((priority) => topology.workQueue(poolOf(distributed, target), priority)),
  );
  for (const trigger of triggers)
    assert.equal(trigger.at("authenticationRef", "name").text, nameOf(authentication));
});

/** Neither the clock nor the log is needed to determine the names of queues. */
const neverAsked = {} as never;

function poolOf(folder: string, deployment: string): string {
  const container = containersIn(folder).find(({ where }) => where.endsWith(`: ${deployment}`));
  assert.ok(container !== undefined, deployment);
  const { env } = container;
  const plain = Object.entries(env).filter(([name]) => !name.endsWith("_FILE"));
  const given = {
    ...Object.fromEntries(plain),
    POSTHORN_DATABASE_URL: "postgres://h/d",
    POSTHORN_MASTER_KEY: "0".repeat(64),
  };
  const resolution = resolveSettings({ flags: {}, env: given });
  assert.ok(resolution.kind === "resolved", JSON.stringify(resolution));
  return resolution.settings.workerPool;
}

/** The components that a policy selects, by label or by expression; empty if it selects all pods. */
function selectedComponents(policy: YamlNode): readonly string[] {
  const selectors = ["podSelector", "selector"].map((name) => policy.at("spec", name));
  const labels = selectors.map((selector) => componentOf(selector.at("matchLabels")));
  const values = selectors.flatMap((selector) => selector.at("matchExpressions", 0, "values").texts);
  return [...labels.filter((label) => label !== ""), ...values];
}

function isIn({ address, cidr }: { readonly address: string; readonly cidr: string }): boolean {
  const [network = "", bits = ""] = cidr.split("/");
  const family = isIPv6(address) ? "ipv6" : "ipv4";
  if (isIPv6(network) !== isIPv6(address)) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family);
  return list.check(address, family);
}
