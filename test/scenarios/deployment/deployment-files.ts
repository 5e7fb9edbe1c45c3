/** The files below deploy/, read as what they describe: containers with an image, a command and settings. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseAllDocuments } from "yaml";

export const root = resolve(import.meta.dirname, "../../..");

/** Anything out of a YAML file. */
export type Yaml = { readonly [key: string]: Yaml } & readonly Yaml[] & string & number & boolean;

export interface Container {
  /** For messages: file and name. */
  readonly where: string;
  readonly image: string;
  readonly command: readonly string[];
  /** What the image sets is not in it. */
  readonly env: Readonly<Record<string, string>>;
  readonly memory: string | undefined;
  /** Between the signal to end and the one that cannot be caught, less what `preStop` takes of it. */
  readonly stopMs: number;
  readonly isReadOnly: boolean;
  readonly dropsCapabilities: boolean;
}

export function readText(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** Every document of a file; aliases and merge keys are resolved as Docker Compose does. */
export function readYaml(path: string): readonly Yaml[] {
  return parseAllDocuments(readText(path), { merge: true, strict: true, uniqueKeys: true }).map(
    (document) => {
      const [problem] = [...document.errors, ...document.warnings];
      if (problem !== undefined) throw new Error(`${path}: ${problem.message}`);
      return document.toJS() as Yaml;
    },
  );
}

export function yamlFilesBelow(path: string): readonly string[] {
  return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .toSorted();
}

/** Services of a compose file. */
export function composeContainers(path: string): readonly Container[] {
  const [file] = readYaml(path);
  return Object.entries(file?.["services"] ?? {}).map(([name, service]: [string, Yaml]) => ({
    where: `${path}: ${name}`,
    image: service["image"] ?? "",
    command: service["command"] ?? [],
    env: Object.fromEntries(
      Object.entries(service["environment"] ?? {}).map(([key, value]) => [key, String(value)]),
    ),
    memory: service["deploy"]?.["resources"]?.["limits"]?.["memory"],
    stopMs: durationMs(service["stop_grace_period"] ?? "10s"),
    isReadOnly: (service["read_only"] as boolean | undefined) === true,
    dropsCapabilities: JSON.stringify(service["cap_drop"]) === '["ALL"]',
  }));
}

/** Containers of the workloads among some manifests; `maps` are the config maps that they may name. */
export function workloadContainers(
  path: string,
  maps: Readonly<Record<string, Readonly<Record<string, string>>>>,
): readonly Container[] {
  return readYaml(path).flatMap((manifest) => {
    const pod = manifest["spec"]?.["template"]?.["spec"];
    return [...(pod?.["containers"] ?? [])].map((container): Container => {
      const [, seconds = "0"] = [...(container["lifecycle"]?.["preStop"]?.["exec"]?.["command"] ?? [])];
      const fromMaps = [...(container["envFrom"] ?? [])].map(
        (from) => maps[from["configMapRef"]?.["name"] ?? ""],
      );
      const own = [...(container["env"] ?? [])].map((entry) => [entry["name"], entry["value"]] as const);
      return {
        where: `${path}: ${manifest["kind"]}`,
        image: container["image"] ?? "",
        command: container["args"] ?? [],
        env: Object.assign({}, ...fromMaps, Object.fromEntries(own)) as Record<string, string>,
        memory: container["resources"]?.["limits"]?.["memory"],
        stopMs: 1_000 * ((pod?.["terminationGracePeriodSeconds"] ?? 30) - Number(seconds)),
        isReadOnly: container["securityContext"]?.["readOnlyRootFilesystem"] === true,
        dropsCapabilities:
          JSON.stringify(container["securityContext"]?.["capabilities"]) === '{"drop":["ALL"]}',
      };
    });
  });
}

/** Lines `NAME=value`; others are comments. */
export function readEnvFile(path: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...readText(path).matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
}

function durationMs(text: string): number {
  const [, count, unit] = /^(\d+)(m|s)$/.exec(text) ?? [];
  if (unit === undefined) throw new Error(`${text} is no duration`);
  return Number(count) * (unit === "m" ? 60_000 : 1_000);
}
