import { parse, YAMLParseError } from "yaml";
import { closestName } from "../domain/closest-name.ts";
import { codeOf, messageOf } from "../domain/thrown.ts";
import { envPrefix, fileKeyOf, flagOf, type Option } from "./option.ts";
import { optionEntries, type OptionName } from "./options.ts";

/**
 * Where a value came from. `name` is what a user would search for: `--port`, `POSTHORN_PORT`, `posthorn.yaml: port`.
 */
export interface Source {
  readonly kind: "flag" | "environment" | "file" | "option" | "default";
  readonly name: string;
}

/** The raw value of one setting from one source. It is not validated yet. */
export interface Given {
  readonly option: OptionName;
  readonly source: Source;
  readonly raw: unknown;
}

/** All values from one source, and the problems found in it. */
export interface Gathered {
  readonly given: readonly Given[];
  readonly problems: readonly string[];
  /** Settings whose secret file cannot be read. They count as set, but their value is unknown. */
  readonly unread?: readonly OptionName[];
}

/** Reads a whole file; throws if the file cannot be read. */
export type ReadFile = (path: string) => string;

/** Variables with our prefix that are not settings. */
const otherVariables = new Set(["POSTHORN_URL", "POSTHORN_KEY", "POSTHORN_CONFIG"]);

/**
 * Kubernetes adds these to every container in the same namespace as a service whose name begins with `posthorn`, such
 * as `posthorn-api`. A name that ends in `PORT` could be a misspelled setting, so its value decides.
 */
const serviceLink =
  /^POSTHORN_([A-Z0-9_]+_)?(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const servicePort = /^POSTHORN_([A-Z0-9_]+_)?PORT$/;
const servicePortValue = /^(tcp|udp|sctp):\/\//;

/** Flags parsed by the command line, keyed by the name of the setting. */
export function gatherFlags(flags: Readonly<Partial<Record<OptionName, string | boolean>>>): Gathered {
  const given = optionEntries.flatMap(([name, option]): Given[] => {
    const raw = flags[name];
    return raw === undefined ? [] : [{ option: name, raw, source: { kind: "flag", name: flagOf(option) } }];
  });
  return { given, problems: [] };
}

/** Options of the library, keyed by the name of the setting; `undefined` and `null` count as not set. */
export function gatherValues(values: Readonly<Record<string, unknown>>): Gathered {
  const given: Given[] = [];
  const problems: string[] = [];
  const known = optionEntries.map(([name]) => name);
  for (const [key, raw] of Object.entries(values)) {
    if (raw === undefined || raw === null) continue;
    const name = known.find((one) => one === key);
    if (name === undefined) problems.push(`${key} is not an option${didYouMean(key, known)}`);
    else given.push({ option: name, raw, source: { kind: "option", name: `option ${key}` } });
  }
  return { given, problems };
}

/** An empty variable is treated as unset, because that is the purpose of `NAME=` in a compose file. */
export function gatherEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  readFile: ReadFile,
): Gathered {
  const given: Given[] = [];
  const problems: string[] = [];
  const unread: OptionName[] = [];
  const present = new Map(
    Object.entries(env).filter(
      (pair): pair is [string, string] =>
        pair[0].startsWith(envPrefix) && pair[1] !== undefined && pair[1] !== "",
    ),
  );
  for (const [name, option] of optionEntries) {
    const raw = present.get(option.env);
    if (raw !== undefined && !isServiceLink(option.env, raw)) {
      given.push({ option: name, raw, source: { kind: "environment", name: option.env } });
    }
    if (option.secret !== true) continue;
    const path = present.get(`${option.env}_FILE`);
    if (path === undefined) continue;
    addSecretFile(given, problems, unread, {
      name,
      key: `${option.env}_FILE`,
      path,
      kind: "environment",
      readFile,
    });
  }
  const known = optionEntries.flatMap(([, option]) => namesOf(option, (base) => option.env + base));
  for (const [name, raw] of present) {
    if (known.includes(name) || otherVariables.has(name) || name.startsWith("POSTHORN_TEST_")) continue;
    if (isServiceLink(name, raw)) continue;
    problems.push(`${name} (environment) is not a setting${didYouMean(name, known)}`);
  }
  return { given, problems, unread };
}

function isServiceLink(name: string, raw: string): boolean {
  return serviceLink.test(name) || (servicePort.test(name) && servicePortValue.test(raw));
}

/** A YAML file with one key per setting: `max_payload_bytes: 100000`. */
export function gatherFile(path: string, readFile: ReadFile): Gathered {
  const content = readYaml(path, readFile);
  if (typeof content === "string") return { given: [], problems: [content] };
  const given: Given[] = [];
  const problems: string[] = [];
  const unread: OptionName[] = [];
  const byKey = new Map(optionEntries.map(([name, option]) => [fileKeyOf(option), { name, option }]));
  const known = optionEntries.flatMap(([, option]) =>
    namesOf(option, (ending) => fileKeyOf(option) + ending.toLowerCase()),
  );
  for (const [key, raw] of Object.entries(content)) {
    if (raw === null) continue;
    const plain = byKey.get(key);
    const behindFile = key.endsWith("_file") ? byKey.get(key.slice(0, -"_file".length)) : undefined;
    if (plain !== undefined) {
      given.push({ option: plain.name, raw, source: { kind: "file", name: `${path}: ${key}` } });
    } else if (behindFile?.option.secret === true) {
      const secret = {
        name: behindFile.name,
        key: `${path}: ${key}`,
        path: textOf(raw),
        kind: "file" as const,
        readFile,
      };
      addSecretFile(given, problems, unread, secret);
    } else {
      problems.push(`${key} (${path}) is not a setting${didYouMean(key, known)}`);
    }
  }
  return { given, problems, unread };
}

function readYaml(path: string, readFile: ReadFile): Record<string, unknown> | string {
  try {
    const content: unknown = parse(readFile(path), { logLevel: "error" }) ?? {};
    if (typeof content === "object" && !Array.isArray(content)) return content as Record<string, unknown>;
    return `${path} (--config) must contain one "name: value" per line`;
  } catch (error) {
    // The parser's message may quote the line, which may contain a key.
    if (error instanceof YAMLParseError) {
      const [place] = error.linePos ?? [];
      return `${path} (--config) is not valid YAML${place === undefined ? "" : `, line ${place.line}`}`;
    }
    return `${path} (--config) cannot be read: ${reasonOf(error)}`;
  }
}

function addSecretFile(
  given: Given[],
  problems: string[],
  unread: OptionName[],
  secret: {
    readonly name: OptionName;
    readonly key: string;
    readonly path: string;
    readonly kind: "environment" | "file";
    readonly readFile: ReadFile;
  },
): void {
  const refuse = (problem: string): void => {
    problems.push(`${secret.key} names ${secret.path}, which ${problem}`);
    unread.push(secret.name);
  };
  try {
    const raw = secret.readFile(secret.path).trim();
    if (raw === "") refuse("is empty");
    else given.push({ option: secret.name, raw, source: { kind: secret.kind, name: secret.key } });
  } catch (error) {
    refuse(`cannot be read: ${reasonOf(error)}`);
  }
}

function textOf(raw: unknown): string {
  return typeof raw === "string" ? raw : JSON.stringify(raw);
}

function namesOf(option: Option, withEnding: (ending: string) => string): readonly string[] {
  return option.secret === true ? [withEnding(""), withEnding("_FILE")] : [withEnding("")];
}

function didYouMean(name: string, known: readonly string[]): string {
  const closest = closestName(name, known);
  return closest === null ? '; see "posthorn config"' : `; did you mean ${closest}?`;
}

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code === "ENOENT") return "file not found";
  if (code === "EACCES") return "permission denied";
  if (code === "EISDIR") return "it is a folder";
  return messageOf(error);
}
