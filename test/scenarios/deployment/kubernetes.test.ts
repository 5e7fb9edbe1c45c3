import assert from "node:assert/strict";
import { BlockList, isIP, isIPv6 } from "node:net";
import { basename } from "node:path";
import { suite, test } from "node:test";
import { addressBoundaries } from "../../../src/core/egress/address-policy.fixture.ts";
import { assertFits, assertPinned } from "./container-rules.ts";
import {
  readEnvFile,
  readText,
  readYaml,
  workloadContainers,
  type Yaml,
  yamlFilesBelow,
} from "./deployment-files.ts";
import { SecretFiles } from "./secret-files.ts";

const variants = ["postgres", "embedded"] as const;
/** Beside the kustomization on purpose, and used by hand. */
const apart = ["kustomization.yaml", "migrate.yaml", "secret.template.yaml"];
/** IPv4 in the form of IPv6, which no packet has; and addresses with a zone. */
const mapped = /^(::|(0+:){5})ffff:|%/i;
const { version } = JSON.parse(readText("package.json")) as { readonly version: string };

const folderOf = (variant: string): string => `deploy/kubernetes/${variant}`;
const manifestsOf = (variant: string): readonly Yaml[] => yamlFilesBelow(folderOf(variant)).flatMap(readYaml);
const kindsOf = (variant: string, kind: string): readonly Yaml[] =>
  manifestsOf(variant).filter((manifest) => manifest["kind"] === kind);
const workloads = (variant: string): readonly Yaml[] =>
  manifestsOf(variant).filter((manifest) => manifest["spec"]?.["template"] !== undefined);
const componentOf = (labels: Yaml | undefined): string | undefined => labels?.["app.kubernetes.io/component"];

for (const variant of variants) {
  suite(`kubernetes, ${variant}`, () => {
    const folder = folderOf(variant);
    const [kustomization] = readYaml(`${folder}/kustomization.yaml`);

    test("the kustomization names every manifest, and the image of this version", () => {
      const files = yamlFilesBelow(folder).map((path) => basename(path));
      const named = [...(kustomization?.["resources"] ?? [])];
      assert.deepEqual(named.toSorted(), files.filter((name) => !apart.includes(name)).toSorted());
      assert.deepEqual(
        [...(kustomization?.["images"] ?? [])].map((image) => [image["name"], image["newTag"]]),
        [["posthorn", version]],
      );
    });

    test("every container fits the program and its settings", () => {
      using secrets = new SecretFiles();
      const generated = [...(kustomization?.["configMapGenerator"] ?? [])].map((map) => [
        map["name"],
        Object.assign({}, ...[...map["envs"]].map((path: string) => readEnvFile(`${folder}/${path}`))),
      ]);
      const maps = Object.fromEntries(generated) as Record<string, Record<string, string>>;
      const containers = yamlFilesBelow(folder).flatMap((path) => workloadContainers(path, maps));
      assert.ok(containers.length > 0);
      for (const container of containers) {
        const image = container.image === "posthorn" ? `posthorn:${version}` : container.image;
        assertPinned(image, container.where);
        assertFits({ ...container, image }, secrets);
      }
    });

    test("pods are not root, get nothing they do not ask for, and stay out of the settings", () => {
      for (const { spec, kind } of workloads(variant)) {
        const pod = spec["template"]["spec"];
        assert.equal(pod["securityContext"]["runAsNonRoot"], true, kind);
        assert.equal(pod["securityContext"]["runAsUser"], 1000, kind);
        assert.equal(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault", kind);
        assert.equal(pod["automountServiceAccountToken"], false, kind);
        assert.equal(pod["enableServiceLinks"], false, kind);
        for (const container of pod["containers"]) {
          assert.equal(container["securityContext"]["allowPrivilegeEscalation"], false, kind);
          const mounted = [...container["volumeMounts"]].map((mount) => mount["name"]);
          const volumes = [...(pod["volumes"] ?? []), ...(claimsOf(spec) ?? [])];
          assert.deepEqual(
            mounted,
            volumes.map((volume) => volume["name"] ?? volume["metadata"]["name"]),
            kind,
          );
        }
      }
    });

    test("servers are probed where they listen: alive, ready, and patient while they migrate", () => {
      const servers = workloads(variant).filter(({ kind }) => kind !== "Job");
      assert.ok(servers.length > 0);
      for (const { spec } of servers) {
        const [container] = spec["template"]["spec"]["containers"];
        assert.deepEqual(container?.["ports"], [{ name: "http", containerPort: 8080 }]);
        const probes = ["startupProbe", "livenessProbe", "readinessProbe"].map((name) => container?.[name]);
        assert.deepEqual(
          probes.map((probe) => probe?.["httpGet"]),
          ["/livez", "/livez", "/readyz"].map((path) => ({ path, port: "http" })),
        );
        const [startup] = probes;
        assert.ok(Number(startup?.["periodSeconds"]) * Number(startup?.["failureThreshold"]) >= 300);
      }
    });

    test("whatever selects pods finds some, and the service leads to the API alone", () => {
      const components = new Set(workloads(variant).map(({ metadata }) => componentOf(metadata["labels"])));
      for (const { spec, metadata } of workloads(variant)) {
        const labels = componentOf(spec["template"]["metadata"]["labels"]);
        assert.equal(labels, componentOf(metadata["labels"]));
        assert.equal(componentOf(spec["selector"]?.["matchLabels"]) ?? labels, labels);
      }
      for (const policy of [
        ...kindsOf(variant, "NetworkPolicy"),
        ...kindsOf(variant, "PodDisruptionBudget"),
      ]) {
        const selector = policy["spec"]["podSelector"] ?? policy["spec"]["selector"];
        const [expression] = [...(selector["matchExpressions"] ?? [])];
        const all = componentOf(selector["matchLabels"]) ?? [...components];
        for (const component of [expression?.["values"] ?? all].flat() as string[])
          assert.ok(components.has(component), `${policy["metadata"]["name"]}: ${component}`);
      }
      const [service] = kindsOf(variant, "Service");
      const wanted = variant === "embedded" ? "embedded" : "api";
      assert.equal(componentOf(service?.["spec"]["selector"]), wanted);
    });

    test("nothing leads to the cluster's own networks: the policy allows what the egress guard does", () => {
      const policy = kindsOf(variant, "NetworkPolicy").find(({ metadata }) =>
        metadata["name"].endsWith("-internet"),
      );
      const blocks = [...(policy?.["spec"]["egress"][0]?.["to"] ?? [])].map((to) => to["ipBlock"]);
      const allows = (address: string): boolean =>
        blocks.some(
          (block) => isIn(block["cidr"], address) && !block["except"].some((each) => isIn(each, address)),
        );
      const judged = addressBoundaries.flatMap(([addressClass, ...addresses]) =>
        addresses
          .filter((address) => isIP(address) !== 0 && !mapped.test(address) && addressClass !== "isatap")
          .map((address) => ({ address, allowed: addressClass === "public" })),
      );
      assert.ok(judged.length > 80);
      for (const { address, allowed } of judged) assert.equal(allows(address), allowed, address);
    });
  });
}

test("kubernetes, embedded: one replica, on a volume that one pod may use", () => {
  const [set] = kindsOf("embedded", "StatefulSet");
  assert.equal(set?.["spec"]["replicas"], 1);
  assert.deepEqual(set?.["spec"]["volumeClaimTemplates"][0]?.["spec"]["accessModes"], ["ReadWriteOncePod"]);
});

test("kubernetes, postgres: workers are scaled by a metric that the program has", () => {
  const [autoscaler] = kindsOf("postgres", "HorizontalPodAutoscaler");
  const [external, resource] = autoscaler?.["spec"]["metrics"] ?? [];
  assert.equal(resource?.["resource"]["name"], "cpu");
  const metric = external?.["external"]["metric"]["name"] ?? "";
  const gauges = readText("src/adapters/telemetry/prometheus/gauges.ts");
  const rule = readText("deploy/kubernetes/postgres/autoscaling.yaml");
  assert.ok(rule.includes(`name: { as: ${metric} }`));
  for (const [name] of rule.matchAll(/webhook_[a-z_]+/g)) assert.ok(gauges.includes(`"${name}"`), name);
  const { kind, name } = autoscaler?.["spec"]["scaleTargetRef"] ?? {};
  const target = manifestsOf("postgres").find(
    (each) => each["kind"] === kind && each["metadata"]["name"] === name,
  );
  assert.ok(target !== undefined && target["spec"]["replicas"] === undefined);
});

test("kubernetes, postgres: the template of the secret is complete, and refused as it stands", () => {
  using secrets = new SecretFiles();
  const [template] = readYaml(`${folderOf("postgres")}/secret.template.yaml`);
  const values = Object.entries(template?.["stringData"] ?? {});
  const wanted = Object.values(readEnvFile(`${folderOf("postgres")}/posthorn.env`)).filter((value) =>
    value.startsWith("/run/secrets/"),
  );
  assert.deepEqual(values.map(([name]) => name).toSorted(), wanted.map((path) => basename(path)).toSorted());
  for (const [name, value] of values) {
    assert.equal(value, "REPLACE");
    assert.ok(secrets.names().includes(name));
  }
  assert.ok("REPLACE".length < 24, "too short for an admin key");
});

function claimsOf(spec: Yaml): readonly Yaml[] | undefined {
  return spec["volumeClaimTemplates"];
}

function isIn(cidr: string, address: string): boolean {
  const family = isIPv6(address) ? "ipv6" : "ipv4";
  const [network = "", bits = ""] = cidr.split("/");
  if ((isIPv6(network) ? "ipv6" : "ipv4") !== family) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family);
  return list.check(address, family);
}
