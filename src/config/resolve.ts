import { readFileSync } from "node:fs";
import { attemptTimeoutMsMax } from "../domain/delivery-policy.ts";
import { isLoopbackHost } from "../domain/http/network.ts";
import type { Option } from "./option.ts";
import { optionEntries, type OptionName, options, type Settings } from "./options.ts";
import {
  type Gathered,
  gatherEnvironment,
  gatherFile,
  gatherFlags,
  gatherValues,
  type Given,
  type ReadFile,
  type Source,
} from "./sources.ts";

/** Settings that contradict each other, and why. */
interface Contradiction {
  readonly options: readonly OptionName[];
  /** Continues a sentence that starts with the names of the settings. */
  readonly problem: string;
}

/**
 * A delivery may wait in memory after it has been leased, and is sent only if its lease outlasts the longest request.
 * Twice the request timeout leaves as much time for waiting as for sending.
 */
const leaseMsMinimum = 2 * (attemptTimeoutMsMax + 10_000);
const adminKeyLengthMin = 24;

/**
 * Checks relations between settings that are each valid individually. The limits follow from guarantees of the engine.
 */
function contradictions(settings: Settings): readonly Contradiction[] {
  const found: (Contradiction | false)[] = [
    settings.dev &&
      !isLoopbackHost(settings.host) && {
        options: ["dev", "host"],
        problem: `development mode is refused on ${settings.host}, which may be reachable from other machines; use host 127.0.0.1, or disable dev`,
      },
    !settings.dev &&
      settings.publicUrl?.startsWith("http:") === true && {
        options: ["publicUrl"],
        problem:
          "must be an https URL, because its callback URLs contain a key; http is only allowed in development mode",
      },
    settings.clientCertificateHeader !== null &&
      settings.trustedProxies.length === 0 && {
        options: ["clientCertificateHeader", "trustedProxies"],
        problem: "the header is accepted only from trusted proxies, because anyone else could forge it",
      },
    settings.leaseMs < leaseMsMinimum && {
      options: ["leaseMs"],
      problem: `must be at least ${leaseMsMinimum} ms: a lease must outlast the longest request (${attemptTimeoutMsMax} ms) and the wait before it; otherwise deliveries would be sent twice`,
    },
    settings.shutdownGraceMs >= settings.leaseMs && {
      options: ["shutdownGraceMs", "leaseMs"],
      problem:
        "the grace period must be shorter than the lease; otherwise other processes would take over running deliveries",
    },
    settings.webhookConcurrency > settings.concurrency && {
      options: ["webhookConcurrency", "concurrency"],
      problem: `one webhook cannot have more requests in flight (${settings.webhookConcurrency}) than the process (${settings.concurrency})`,
    },
    (settings.hostConcurrency ?? 0) > settings.concurrency && {
      options: ["hostConcurrency", "concurrency"],
      problem: `one host cannot have more requests in flight (${settings.hostConcurrency}) than the process (${settings.concurrency})`,
    },
    settings.retentionPayloadDays > settings.retentionHistoryDays && {
      options: ["retentionPayloadDays", "retentionHistoryDays"],
      problem: "payloads cannot be kept longer than the events they belong to",
    },
    settings.bufferBytesMax < settings.payloadBytesMax && {
      options: ["bufferBytesMax", "payloadBytesMax"],
      problem: "the buffer must be large enough for one payload",
    },
    settings.smtpUrl !== null &&
      settings.mailFrom === null && {
        options: ["mailFrom", "smtpUrl"],
        problem: "an email needs a sender: set POSTHORN_MAIL_FROM, such as Webhooks <webhooks@example.com>",
      },
    settings.roles.length === 0 && { options: ["roles"], problem: "must name at least one role" },
    settings.adminKey !== null &&
      settings.adminKey.length < adminKeyLengthMin && {
        options: ["adminKey"],
        problem: `must have at least ${adminKeyLengthMin} characters; create one with: openssl rand -hex 24`,
      },
  ];
  return [...found.filter((entry) => entry !== false), ...contradictoryServices(settings)];
}

/** Contradictory database and queue settings. SQLite allows one process; PostgreSQL allows several. */
function contradictoryServices(settings: Settings): readonly Contradiction[] {
  const isEmbedded = settings.databaseUrl === null;
  const found: (Contradiction | false)[] = [
    !isEmbedded &&
      settings.masterKey === null && {
        options: ["masterKey"],
        problem:
          "is required with PostgreSQL, because all processes must decrypt the same secrets; create one with: openssl rand -base64 32",
      },
    isEmbedded &&
      settings.databaseDirectUrl !== null && {
        options: ["databaseDirectUrl", "databaseUrl"],
        problem: "a direct URL requires POSTHORN_DATABASE_URL",
      },
    isEmbedded &&
      settings.queueUrl !== null && {
        options: ["queueUrl", "databaseUrl"],
        problem: "RabbitMQ requires PostgreSQL: set POSTHORN_DATABASE_URL too, or unset the queue",
      },
    isEmbedded &&
      settings.redisUrl !== null && {
        options: ["redisUrl", "databaseUrl"],
        problem:
          "Redis is for several processes, and SQLite allows only one: set POSTHORN_DATABASE_URL too, or unset Redis",
      },
    isEmbedded &&
      settings.workerPool !== "default" && {
        options: ["workerPool", "databaseUrl"],
        problem: "with SQLite a single worker serves all tenants; keep the default",
      },
    isEmbedded &&
      settings.roles.includes("scheduler") !== settings.roles.includes("worker") && {
        options: ["roles", "databaseUrl"],
        problem:
          "with SQLite, scheduler and worker must run together: set both or neither, or set POSTHORN_DATABASE_URL to run them separately",
      },
  ];
  return found.filter((entry) => entry !== false);
}

/** The sources of settings. */
export interface ResolveInput {
  readonly flags: Readonly<Partial<Record<OptionName, string | boolean>>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Value of `--config`; defaults to the file named by `POSTHORN_CONFIG`. */
  readonly file?: string | undefined;
  readonly readFile?: ReadFile;
}

/** Either settings with their sources, or all problems together. */
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

/**
 * Settings of a program that embeds Posthorn. Only the values that it passes count; they are validated by the same
 * rules.
 */
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
  return finish(values, sources as Record<OptionName, Source>, problems);
}

function finish(
  values: Partial<Record<OptionName, unknown>>,
  sources: Record<OptionName, Source>,
  problems: string[],
): Resolution {
  // A setting that could not be parsed has no value to compare. Its default is used instead, so that the other settings
  // are checked too.
  const settings = { ...defaultSettings(), ...values } as Settings;
  for (const { options: involved, problem } of contradictions(settings)) {
    if (involved.some((name) => !(name in values))) continue;
    problems.push(`${involved.map((name) => nameWithSource(name, sources[name])).join(" and ")}: ${problem}`);
  }
  if (problems.length > 0) return { kind: "refused", problems };
  return { kind: "resolved", settings, sources };
}

/** The settings that apply if nothing is configured. */
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

/** Reports a setting that occurs twice in one source, as `NAME` and as `NAME_FILE`. */
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
