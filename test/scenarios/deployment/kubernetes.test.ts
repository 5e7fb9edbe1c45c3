import assert from "node:assert/strict";
import { BlockList, isIP, isIPv6 } from "node:net";
import { basename } from "node:path";
import { suite, test } from "node:test";
import { resolveSettings } from "../../../src/config/resolve.ts";
import { addressBoundaries } from "../../../src/core/egress/address-policy.fixture.ts";
import { assertFits, assertPinned } from "./container-rules.ts";
import {
  readEnvFile,
  readOnlyYaml,
  readText,
  readYaml,
  workloadContainers,
  yamlFilesBelow,
} from "./deployment-files.ts";
import { SecretFiles } from "./secret-files.ts";
import type { YamlNode } from "./yaml-node.ts";

const shared = "deploy/kubernetes/postgres";
const embedded = "deploy/kubernetes/embedded";
/** Beside the kustomization on purpose, and used by hand. */
const apart = ["kustomization.yaml", "migrate.yaml", "secret.template.yaml"];
/** IPv4 in the form of IPv6, which no packet has; and addresses with a zone. */
const mapped = /^(::|(0+:){5})ffff:|%/i;
const { version } = JSON.parse(readText("package.json")) as { readonly version: string };

const allManifests = (folder: string): readonly YamlNode[] => yamlFilesBelow(folder).flatMap(readYaml);
const kindsOf = (folder: string, kind: string): readonly YamlNode[] =>
  allManifests(folder).filter((manifest) => manifest.at("kind").text === kind);
const workloads = (folder: string): readonly YamlNode[] =>
  allManifests(folder).filter((manifest) => manifest.at("spec", "template").isThere);
const componentOf = (labels: YamlNode): string => labels.at("app.kubernetes.io/component").text;

for (const folder of [shared, embedded]) {
  suite(folder, () => {
    const kustomization = readOnlyYaml(`${folder}/kustomization.yaml`);

    test("the kustomization names every manifest, and the image of this version", () => {
      const files = yamlFilesBelow(folder).map((path) => basename(path));
      const named = kustomization.at("resources").texts;
      assert.deepEqual(named.toSorted(), files.filter((name) => !apart.includes(name)).toSorted());
      const images = kustomization.at("images").items;
      assert.deepEqual(
        images.map((image) => [image.at("name").text, image.at("newTag").text]),
        [["posthorn", version]],
      );
    });

    test("every container fits the program and its settings", () => {
      using secrets = new SecretFiles();
      const maps = new Map(
        kustomization.at("configMapGenerator").items.map((map) => {
          const [file = ""] = map.at("envs").texts;
          return [map.at("name").text, readEnvFile(`${folder}/${file}`)] as const;
        }),
      );
      const containers = yamlFilesBelow(folder).flatMap((path) => workloadContainers(path, maps));
      assert.ok(containers.length > 0);
      for (const container of containers) {
        const image = container.image === "posthorn" ? `posthorn:${version}` : container.image;
        assertPinned({ ...container, image });
        assertFits({ ...container, image }, secrets);
      }
    });

    test("pods are not root, get nothing they do not ask for, and mount what they have", () => {
      for (const workload of workloads(folder)) {
        const kind = workload.at("kind").text;
        const pod = workload.at("spec", "template", "spec");
        assert.equal(pod.at("securityContext", "runAsNonRoot").value, true, kind);
        assert.equal(pod.at("securityContext", "runAsUser").value, 1000, kind);
        assert.equal(pod.at("securityContext", "seccompProfile", "type").text, "RuntimeDefault", kind);
        assert.equal(pod.at("automountServiceAccountToken").value, false, kind);
        assert.equal(pod.at("enableServiceLinks").value, false, `${kind}: links would look like settings`);
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

    test("servers are probed where they listen: alive, ready, and patient while they migrate", () => {
      const servers = workloads(folder).filter((workload) => workload.at("kind").text !== "Job");
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

    test("whatever selects pods finds some, and the service leads to the API alone", () => {
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
      const [service] = kindsOf(folder, "Service");
      assert.ok(service !== undefined);
      assert.equal(componentOf(service.at("spec", "selector")), folder === embedded ? "embedded" : "api");
    });

    test("the network lets out to exactly the addresses that the egress guard calls public", () => {
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

test("kubernetes, PostgreSQL: workers are scaled by metrics that the program has", () => {
  const [autoscaler] = kindsOf(shared, "HorizontalPodAutoscaler");
  assert.ok(autoscaler !== undefined);
  const metrics = autoscaler.at("spec", "metrics");
  assert.equal(metrics.at(1, "resource", "name").text, "cpu");
  const rule = readText(`${shared}/autoscaling.yaml`);
  assert.ok(rule.includes(`name: { as: ${metrics.at(0, "external", "metric", "name").text} }`));
  const gauges = readText("src/adapters/telemetry/prometheus/gauges.ts");
  for (const [name] of rule.matchAll(/webhook_[a-z_]+/g)) assert.ok(gauges.includes(`"${name}"`), name);
  const target = autoscaler.at("spec", "scaleTargetRef");
  const found = kindsOf(shared, target.at("kind").text).find(
    (each) => each.at("metadata", "name").text === target.at("name").text,
  );
  assert.ok(found !== undefined);
  assert.ok(!found.at("spec", "replicas").isThere, "applying it again must not undo what the autoscaler did");
});

test("kubernetes, PostgreSQL: the template of the secret is complete, and refused as it stands", () => {
  using secrets = new SecretFiles();
  const settings = readEnvFile(`${shared}/posthorn.env`);
  const wanted = Object.values(settings).filter((value) => value.startsWith("/run/secrets/"));
  const template = readOnlyYaml(`${shared}/secret.template.yaml`).at("stringData");
  assert.deepEqual(template.names.toSorted(), wanted.map((path) => basename(path)).toSorted());
  for (const name of template.names) assert.ok(secrets.names().includes(name), name);
  const readFile = (path: string): string => template.at(basename(path)).text;
  const resolution = resolveSettings({ flags: {}, env: settings, readFile });
  assert.ok(resolution.kind === "refused", "nobody runs with the key that everybody knows");
  assert.match(resolution.problems.join(), /POSTHORN_ADMIN_KEY_FILE.*at least 24/);
});

/** By label or by expression; none when all pods are meant. */
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
