import { readFileSync } from "node:fs";
import type { Option } from "./option.ts";
import { optionEntries, options } from "./options.ts";
import type { OptionName, Settings } from "./options.ts";
import { contradictions } from "./relations.ts";
import { gatherEnvironment, gatherFile, gatherFlags, gatherValues } from "./sources.ts";
import type { Gathered, Given, ReadFile, Source } from "./sources.ts";

/** The sources of settings. */
export interface ResolveInput {
  readonly flags: Readonly<Partial<Record<OptionName, string | boolean>>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Value of `--config`; defaults to the file named by `POSTHORN_CONFIG`. */
  readonly file?: string | undefined;
  readonly readFile?: ReadFile;
}

/** Settings with their sources, or all problems at once. */
export type Resolution =
  | {
      readonly kind: "resolved";
      readonly settings: Settings;
      readonly sources: Readonly<Record<OptionName, Source>>;
    }
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** Precedence: flag, environment, file, default. */
export function resolveSettings(input: ResolveInput): Resolution {
  const readFile = input.readFile ?? ((path) => readFileSync(path, "utf8"));
  const named = input.env["POSTHORN_CONFIG"];
  const file = input.file ?? (named === "" ? undefined : named);
  return resolveGathered([
    gatherFlags(input.flags),
    gatherEnvironment(input.env, readFile),
    ...(file === undefined ? [] : [gatherFile(file, readFile)]),
  ]);
}

/** Settings of a program that embeds Posthorn: only the passed values count, by the same rules. */
export function resolveValues(values: Readonly<Record<string, unknown>>): Resolution {
  return resolveGathered([gatherValues(values)]);
}

/** Merges the sources in order of precedence. */
function resolveGathered(gathered: readonly Gathered[]): Resolution {
  const problems = gathered.flatMap((place) => place.problems);
  const values: Partial<Record<OptionName, unknown>> = {};
  const sources: Partial<Record<OptionName, Source>> = {};
  for (const [name, option] of optionEntries) {
    const given = gathered.flatMap((place) => place.given.filter((entry) => entry.option === name));
    problems.push(...doubled(option, given));
    const chosen = choose(option, given[0]);
    const isUnread = gathered.some(({ unread = [] }) => unread.includes(name));
    if (chosen.kind === "problem") problems.push(chosen.problem);
    else if (!isUnread) values[name] = chosen.value;
    sources[name] = chosen.source;
  }
  return finish({ values, sources, problems });
}

function finish(found: {
  readonly values: Partial<Record<OptionName, unknown>>;
  readonly sources: Partial<Record<OptionName, Source>>;
  readonly problems: string[];
}): Resolution {
  const sources = found.sources as Record<OptionName, Source>;
  // A setting that could not be parsed has no value to compare. Use its default, so that the other settings are
  // checked too.
  const settings = { ...defaultSettings(), ...found.values } as Settings;
  for (const { options: involved, problem } of contradictions(settings)) {
    if (involved.some((name) => !(name in found.values))) continue;
    found.problems.push(
      `${involved.map((name) => nameWithSource(name, sources[name])).join(" and ")}: ${problem}`,
    );
  }
  if (found.problems.length > 0) return { kind: "refused", problems: found.problems };
  return { kind: "resolved", settings, sources };
}

/** The settings if nothing is configured. */
export function defaultSettings(): Settings {
  return Object.fromEntries(optionEntries.map(([name, option]) => [name, option.fallback])) as Settings;
}

type Chosen =
  | { readonly kind: "value"; readonly value: unknown; readonly source: Source }
  | { readonly kind: "problem"; readonly problem: string; readonly source: Source };

function choose(option: Option, given: Given | undefined): Chosen {
  if (given === undefined) {
    return { kind: "value", value: option.fallback, source: { kind: "default", name: "default" } };
  }
  const { source, raw } = given;
  const reading = option.kind.read(raw);
  if (reading.kind === "value") return { ...reading, source };
  // The value of a secret is never repeated, not even if it is invalid.
  const problem =
    option.secret === true && option.kind.problemsHideValue !== true
      ? `must be ${option.kind.title === "text" ? "one line of text" : `a valid ${option.kind.title}`}`
      : reading.problem;
  return { kind: "problem", problem: `${shown(source)} ${problem}`, source };
}

/** The same setting twice in one source: `NAME` and `NAME_FILE`. */
function doubled(option: Option, given: readonly Given[]): readonly string[] {
  if (option.secret !== true) return [];
  return (["environment", "file"] as const).flatMap((kind) => {
    const [first, second] = given.filter(({ source }) => source.kind === kind);
    if (first === undefined || second === undefined) return [];
    return [`${first.source.name} and ${second.source.name} are both set; keep one`];
  });
}

function nameWithSource(name: OptionName, source: Source): string {
  if (source.kind !== "default") return shown(source);
  const { env, fallback } = options[name];
  return `${env} (${fallback === null ? "not set" : "default"})`;
}

function shown(source: Source): string {
  return source.kind === "flag" || source.kind === "environment"
    ? `${source.name} (${source.kind})`
    : source.name;
}
