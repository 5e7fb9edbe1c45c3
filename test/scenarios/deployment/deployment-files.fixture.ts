/** Parses the files in deploy/. A container consists of an image, a command and settings. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseAllDocuments } from "yaml";
import { YamlNode } from "./yaml-node.fixture.ts";

export const root = resolve(import.meta.dirname, "../../..");

type Environment = Readonly<Record<string, string>>;

export interface Container {
  /** File and name of the container, for error messages. */
  readonly where: string;
  readonly image: string;
  readonly command: readonly string[];
  /** Does not include the variables that the image sets. */
  readonly env: Environment;
  readonly hasMemoryLimit: boolean;
  /** Time between SIGTERM and SIGKILL, minus the duration of `preStop`. */
  readonly stopMs: number;
  readonly isReadOnly: boolean;
  readonly dropsCapabilities: boolean;
}

export function readText(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** All documents of a file. Aliases and merge keys are resolved as in Docker Compose. */
export function readYaml(path: string): readonly YamlNode[] {
  const documents = parseAllDocuments(readText(path), { merge: true, strict: true, uniqueKeys: true });
  return [...documents].map((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw new Error(`${path}: ${problem.message}`);
    return new YamlNode(document.toJS());
  });
}

/** The document of a file that must contain exactly one. */
export function readOnlyYaml(path: string): YamlNode {
  const [document, ...more] = readYaml(path);
  if (document === undefined || more.length > 0) throw new Error(`${path} has not one document`);
  return document;
}

export function yamlFilesBelow(path: string): readonly string[] {
  return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .toSorted();
}

/** Services of a compose file. */
export function composeContainers(path: string): readonly Container[] {
  return readOnlyYaml(path)
    .at("services")
    .entries.map(([name, service]) => ({
      where: `${path}: ${name}`,
      image: service.at("image").text,
      command: service.at("command").texts,
      env: Object.fromEntries(service.at("environment").entries.map(([key, { text }]) => [key, text])),
      hasMemoryLimit: service.at("deploy", "resources", "limits", "memory").isThere,
      stopMs: durationMs(service.at("stop_grace_period").text),
      isReadOnly: service.at("read_only").value === true,
      dropsCapabilities: service.at("cap_drop").texts.includes("ALL"),
    }));
}

/** Containers of a workload; empty for other manifests. `maps` are the config maps that they may refer to. */
export function workloadContainers(
  manifest: { readonly path: string; readonly node: YamlNode },
  maps: ReadonlyMap<string, Environment>,
): readonly Container[] {
  const { path, node } = manifest;
  const pod = node.at("spec", "template", "spec");
  return pod.at("containers").items.map((container): Container => {
    const [, preStopSeconds = "0"] = container.at("lifecycle", "preStop", "exec", "command").texts;
    const shared = container
      .at("envFrom")
      .items.flatMap((from) => Object.entries(maps.get(from.at("configMapRef", "name").text) ?? {}));
    const own = container
      .at("env")
      .items.map((entry) => [entry.at("name").text, entry.at("value").text] as const);
    return {
      where: `${path}: ${node.at("metadata", "name").text}`,
      image: container.at("image").text,
      command: container.at("args").texts,
      env: Object.fromEntries([...shared, ...own]),
      hasMemoryLimit: container.at("resources", "limits", "memory").isThere,
      stopMs: 1_000 * (Number(pod.at("terminationGracePeriodSeconds").text) - Number(preStopSeconds)),
      isReadOnly: container.at("securityContext", "readOnlyRootFilesystem").value === true,
      dropsCapabilities: container.at("securityContext", "capabilities", "drop").texts.includes("ALL"),
    };
  });
}

/** Lines of the form `NAME=value`; other lines are comments. */
export function readEnvFile(path: string): Environment {
  const lines = [...readText(path).matchAll(/^([A-Z_]+)=(.*)$/gm)];
  return Object.fromEntries(lines.map(([, name = "", value = ""]) => [name, value]));
}

/** A duration in the notation of compose files. An empty text means Docker's default of ten seconds. */
function durationMs(text: string): number {
  const [, count, unit] = /^(\d+)(m|s)$/.exec(text === "" ? "10s" : text) ?? [];
  if (unit === undefined) throw new Error(`${text} is no duration`);
  return Number(count) * (unit === "m" ? 60_000 : 1_000);
}
