/**
 * The output of `kubectl kustomize` for a folder, restricted to the features that the folders here use: bases, merged
 * settings, patches, images.
 */
import { posix } from "node:path";
import { readEnvFile, readOnlyYaml, readYaml } from "./deployment-files.fixture.ts";
import { YamlNode } from "./yaml-node.fixture.ts";

export interface Manifest {
  /** The source file, relative to the root. */
  readonly path: string;
  readonly node: YamlNode;
}

export interface Kustomization {
  /** Names of the files in its folder to which it refers. */
  readonly named: readonly string[];
  readonly manifests: readonly Manifest[];
  /** Config maps by name. */
  readonly maps: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

export function readKustomization(folder: string): Kustomization {
  const file = readOnlyYaml(`${folder}/kustomization.yaml`);
  const resources = file.at("resources").texts;
  const bases = resources
    .filter((name) => name.startsWith("../"))
    .map((name) => readKustomization(posix.join(folder, name)));
  const own = resources.filter((name) => !name.startsWith("../"));
  const patches = file.at("patches").items.map((patch) => patch.at("path").text);
  const plain = [
    ...bases.flatMap(({ manifests }) => manifests),
    ...own.flatMap((name) => manifestsOf(`${folder}/${name}`)),
  ];
  const patched = patches
    .flatMap((name) => manifestsOf(`${folder}/${name}`))
    .reduce<readonly Manifest[]>(patch, plain);
  return {
    named: [...own, ...patches],
    manifests: patched.map(({ path, node }) => ({ path, node: withImages(node, file.at("images").items) })),
    maps: mapsOf(file, { folder, bases }),
  };
}

export function manifestsOf(path: string): readonly Manifest[] {
  return readYaml(path).map((node) => ({ path, node }));
}

function mapsOf(
  file: YamlNode,
  { folder, bases }: { readonly folder: string; readonly bases: readonly Kustomization[] },
): Kustomization["maps"] {
  const maps = new Map(bases.flatMap((base) => [...base.maps]));
  for (const map of file.at("configMapGenerator").items) {
    const name = map.at("name").text;
    if (maps.has(name) !== (map.at("behavior").text === "merge"))
      throw new Error(
        `${folder}: the config map ${name} is to be merged where a base has it, and only there`,
      );
    const settings = map.at("envs").texts.map((env) => readEnvFile(`${folder}/${env}`));
    maps.set(name, Object.assign({}, maps.get(name), ...settings) as Record<string, string>);
  }
  return maps;
}

/** A strategic merge, for fields whose lists are replaced as a whole. */
function patch(manifests: readonly Manifest[], { path, node }: Manifest): readonly Manifest[] {
  const isMeant = (other: YamlNode): boolean =>
    other.at("kind").text === node.at("kind").text &&
    other.at("metadata", "name").text === node.at("metadata", "name").text;
  if (!manifests.some((manifest) => isMeant(manifest.node))) throw new Error(`${path} patches nothing`);
  return manifests.map((manifest) =>
    isMeant(manifest.node) ? { path, node: new YamlNode(merged(manifest.node.value, node.value)) } : manifest,
  );
}

function merged(base: unknown, change: unknown): unknown {
  if (!isObject(base) || !isObject(change)) return change;
  const both = { ...base };
  for (const [key, value] of Object.entries(change))
    both[key] = key in base ? merged(base[key], value) : value;
  return both;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function withImages(node: YamlNode, images: readonly YamlNode[]): YamlNode {
  const containers = node.at("spec", "template", "spec", "containers");
  if (!containers.isThere) return node;
  const renamed = containers.items.map(({ value }) =>
    merged(value, { image: imageOf(new YamlNode(value).at("image").text, images) }),
  );
  return new YamlNode(merged(node.value, { spec: { template: { spec: { containers: renamed } } } }));
}

/** Rules match the image name without its tag. */
function imageOf(image: string, rules: readonly YamlNode[]): string {
  const name = image.replace(/:[^:/]*$/, "");
  const rule = rules.find((each) => each.at("name").text === name);
  return rule === undefined ? image : `${rule.at("newName").text}:${rule.at("newTag").text}`;
}
