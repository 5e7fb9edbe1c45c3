import { closestName } from "../../domain/closest-name.ts";
import { andThen, type MaybePromise, type ReceiverCrypto } from "../crypto/crypto.ts";
import { defaultCrypto } from "../crypto/default-crypto.ts";
import type { MessageVerifier, ReceivedMessage } from "../message/message.ts";
import { type PresetDescription, presetTable } from "../presets/presets.ts";
import { bindProviders } from "../providers/index.ts";
import { type SchemeName, schemeNames, schemeOf } from "../providers/provider-table.ts";
import { objectOf } from "../providers/reading.ts";
import { isTimed, type ProviderScheme, signsAddress } from "../providers/scheme-verifier.ts";
import { ReceiverError } from "../receiver-error.ts";
import { allOf, anyOf, combined, firstAccepted } from "../schemes/first-match.ts";
import {
  type Configuration,
  configurationBounds,
  type ConfigurationField,
  type ConfigurationProblem,
  fieldProblems,
  type Fields,
} from "./fields.ts";
import { type Received, singleSource, type SourceVerifier } from "./source-verifier.ts";
import {
  secretTexts,
  text,
  textIn,
  textsIn,
  tolerance,
  toleranceIn,
  type VerifierKind,
  verifierKinds,
} from "./verifier-kinds.ts";

/** Key and event type come from the verifier that accepts the message. */
function anyOfSources(sources: readonly SourceVerifier[]): SourceVerifier {
  return {
    ...common("any_of", sources, anyOf),
    isUnverified: sources.some(({ isUnverified }) => isUnverified),
    // Any of the verifiers may accept the message, so all of them must vouch for the value.
    vouchesFor: (place) => sources.every((source) => source.vouchesFor(place)),
    receive: (message, now) => firstAccepted(sources, (source) => source.receive(message, now)),
  };
}

/**
 * Uses the first key and event type that are found. A GET challenge is answered by the first verifier that recognises
 * it.
 */
function allOfSources(sources: readonly SourceVerifier[]): SourceVerifier {
  return {
    ...common("all_of", sources, allOf),
    isUnverified: sources.every(({ isUnverified }) => isUnverified),
    vouchesFor: (place) => sources.some((source) => source.vouchesFor(place)),
    receive: (message, now) =>
      message.method === "GET"
        ? firstAccepted(sources, (source) => source.receive(message, now))
        : receiveByAll(sources, message, now.nowSeconds),
  };
}

function receiveByAll(
  [first, ...others]: readonly SourceVerifier[],
  message: ReceivedMessage,
  nowSeconds: number,
): MaybePromise<Received> {
  if (first === undefined) return { kind: "rejected", cause: "unknown_key", detail: "there is no verifier" };
  return others.reduce<MaybePromise<Received>>(
    (before, source) =>
      andThen(before, (left) =>
        left.kind === "rejected"
          ? left
          : andThen(source.receive(message, { nowSeconds }), (right) => both(left, right)),
      ),
    first.receive(message, { nowSeconds }),
  );
}

/** A challenge is answered only if the other verifiers accept its message. */
function both(left: Exclude<Received, { readonly kind: "rejected" }>, right: Received): Received {
  if (right.kind === "rejected" || left.kind === "challenge") return right.kind === "rejected" ? right : left;
  if (right.kind === "challenge") return right;
  const verification = combined(left.verification, right.verification);
  if (verification.kind === "rejected") return verification;
  return {
    kind: "verified",
    verification,
    key: left.key ?? right.key,
    eventType: left.eventType ?? right.eventType,
  };
}

function common(
  type: string,
  sources: readonly SourceVerifier[],
  compose: (verifiers: readonly MessageVerifier[]) => MessageVerifier,
): Pick<
  SourceVerifier,
  | "type"
  | "methods"
  | "probes"
  | "forwardHeaders"
  | "secretParameters"
  | "needsClientCertificate"
  | "verifier"
> {
  return {
    type,
    methods: sources.some(({ methods }) => methods.includes("GET")) ? ["GET", "POST"] : ["POST"],
    probes: [...new Set(sources.flatMap(({ probes }) => probes))],
    forwardHeaders: [...new Set(sources.flatMap(({ forwardHeaders }) => forwardHeaders))],
    needsClientCertificate: sources.some(({ needsClientCertificate }) => needsClientCertificate),
    secretParameters: sources.flatMap(({ secretParameters }) => secretParameters),
    verifier: compose(sources.map(({ verifier }) => verifier)),
  };
}

// The providers as values of `type`. Their fields depend on what they sign.

interface ProviderKind extends VerifierKind {
  readonly preset: PresetDescription;
}

const providerKinds: Readonly<Record<string, ProviderKind>> = Object.fromEntries(
  presetTable.map((preset) => [preset.name, kindOf(preset)]),
);

type Verifiers = Readonly<Record<string, (options: object) => ReturnType<VerifierKind["build"]>>>;

function kindOf(preset: PresetDescription): ProviderKind {
  const { name } = preset;
  const scheme = schemeNames.includes(name) ? schemeOf(name as SchemeName) : null;
  return {
    title: preset.title,
    preset,
    fields: providerFieldsOf(preset, scheme),
    build(crypto, given) {
      const verifiers: Verifiers = bindProviders(crypto) as unknown as Verifiers;
      const options = {
        secrets: textsIn(given, "secrets"),
        publicKeys: textsIn(given, "public_keys"),
        publicUrl: textIn(given, "public_url"),
        ...toleranceIn(given),
      };
      return verifiers[name]?.(options) ?? { verify: () => refusal };
    },
    covers: (given) => (isTokenAlone(name, given) ? "request" : signedHeaders(scheme)),
  };
}

/**
 * Returned for a provider without a verifier. This cannot happen while the table and the functions list the same
 * providers.
 */
const refusal = {
  kind: "rejected",
  cause: "unknown_key",
  detail: "there is no verifier for this type",
} as const;

function providerFieldsOf({ name, secret }: PresetDescription, scheme: ProviderScheme | null): Fields {
  const isPublic = scheme?.keys.option === "publicKeys";
  const what = secret.replace(/^\w+: /, "").replace("; publicUrl", "");
  const keys = `${what.charAt(0).toUpperCase()}${what.slice(1)}; two during a rotation.`;
  const publicKeys: ConfigurationField = { ...secretTexts(keys), isSecret: false };
  const hasAddress = ["twilio", "mandrill"].includes(name) || (scheme !== null && signsAddress(scheme));
  const hasTime = name === "mailgun" || (scheme !== null && isTimed(scheme));
  return {
    ...(isPublic ? { public_keys: publicKeys } : { secrets: secretTexts(keys) }),
    ...(name === "meta" && {
      verify_token: text(
        "The verify token that is entered at Meta; without it Meta cannot verify the address.",
        {
          isSecret: true,
        },
      ),
    }),
    ...(hasAddress && {
      public_url: text("The address exactly as it is entered at the provider.", {
        isRequired: true,
      }),
    }),
    ...(hasTime && { tolerance_seconds: tolerance }),
  };
}

/** GitLab's secret token is sent unchanged, so it authenticates the whole request. */
function isTokenAlone(name: string, given: Configuration): boolean {
  return name === "gitlab" && textsIn(given, "secrets").every((secret) => !secret.startsWith("whsec_"));
}

function signedHeaders(scheme: ProviderScheme | null): readonly string[] {
  const { id, timestamp } = scheme?.headers ?? {};
  const address = scheme !== null && signsAddress(scheme) ? ["@target-uri"] : [];
  return [...[id, timestamp].flatMap((name) => name?.toLowerCase() ?? []), ...address];
}

export type ConfiguredVerifier =
  | { readonly kind: "ok"; readonly source: SourceVerifier }
  | { readonly kind: "invalid"; readonly problems: readonly ConfigurationProblem[] };

const compositions: Readonly<Record<string, { readonly title: string; readonly fields: Fields }>> = {
  any_of: {
    title: "Any of several",
    fields: { verifiers: verifiers("One of these verifiers has to accept a message.") },
  },
  all_of: {
    title: "All of several",
    fields: { verifiers: verifiers("All of these verifiers have to accept a message.") },
  },
};

function verifiers(description: string): Fields[string] {
  return { kind: "verifiers", isRequired: true, isSecret: false, description };
}

const kinds: Readonly<Record<string, VerifierKind | ProviderKind>> = { ...verifierKinds, ...providerKinds };

/** Every value of `type` with its fields, for forms, documentation and schemas. */
export const verificationTypes: readonly {
  readonly type: string;
  readonly title: string;
  readonly fields: Fields;
}[] = Object.entries({ ...kinds, ...compositions }).map(([type, { title, fields }]) => ({
  type,
  title,
  fields,
}));

/**
 * Creates a verifier from a stored configuration. For programs that store endpoints as data, such as Posthorn's gateway.
 *
 * ```json
 * { "type": "github", "secrets": ["…"] }
 * { "type": "square", "secrets": ["…"], "public_url": "https://in.example.com/in/abc" }
 * { "type": "hmac", "header": "X-Signature", "prefix": "sha256=", "hash": "sha256", "encoding": "hex", "secrets": ["…"]
 * }
 * { "type": "any_of", "verifiers": [{ "type": "github", "secrets": ["…"] }, { "type": "bearer", "secrets": ["…"] }] }
 * { "type": "none" }
 * ```
 *
 * `type` is a provider's name, a scheme (`standard_webhooks`, `x_webhook`, `http_signatures`, `hmac`, `basic`,
 * `api_key`, `bearer`, `client_certificate`), a composition (`any_of`, `all_of`) or `none`, which must be given
 * explicitly. `verificationTypes` lists all types with their fields. Unknown or invalid settings are reported as problems
 * with their location; in that case no verifier is created, and nothing is thrown.
 */
export function verifierFromConfiguration(
  configuration: unknown,
  crypto: ReceiverCrypto = defaultCrypto,
): ConfiguredVerifier {
  const problems: ConfigurationProblem[] = [];
  const source = build(configuration, {
    crypto,
    at: "",
    depth: 1,
    problems,
    counted: { verifiers: 0 },
  });
  return source === null || problems.length > 0 ? { kind: "invalid", problems } : { kind: "ok", source };
}

/**
 * The configuration with every secret replaced by the result of `replace`: masked for a listing, or sealed. Public
 * keys, names and addresses stay unchanged. A value that is not a configuration is returned unchanged.
 */
export function withSecrets(configuration: unknown, replace: (secret: string) => string): unknown {
  const given = objectOf(configuration);
  if (given === null) return configuration;
  const fields = fieldsOf(given["type"]);
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      if (name === "verifiers" && Array.isArray(value))
        return [name, value.map((each: unknown) => withSecrets(each, replace))];
      // An unknown field may contain a secret under a misspelled name.
      const isShown = name === "type" || fields[name]?.isSecret === false;
      return [name, isShown ? value : replaced(value, replace)];
    }),
  );
}

const secretLengthMin = 8;

/**
 * Reports secrets that are too short for new configurations. Verifiers still accept them, so that existing sources keep
 * working.
 */
export function weakSecretProblems(configuration: unknown, at = ""): readonly ConfigurationProblem[] {
  const given = objectOf(configuration);
  if (given === null) return [];
  const { type, verifiers: parts } = given;
  if (Array.isArray(parts))
    return parts.flatMap((part: unknown, index) => weakSecretProblems(part, `${at}/verifiers/${index}`));
  const fields = fieldsOf(type);
  return Object.entries(given).flatMap(([name, value]) => {
    const { isSecret = false, kind = "text" } = fields[name] ?? {};
    // Fields of kind `texts` hold the secrets that authenticate messages; Meta's verify token does not authenticate
    // messages.
    if (!isSecret || kind !== "texts") return [];
    const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
    return texts.flatMap((text, index) =>
      typeof text === "string" && text.length < secretLengthMin
        ? [
            {
              pointer: `${at}/${name}${Array.isArray(value) ? `/${index}` : ""}`,
              detail: `a secret must have at least ${secretLengthMin} characters; use a long random string`,
            },
          ]
        : [],
    );
  });
}

function replaced(value: unknown, replace: (secret: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => replaced(each, replace));
  return typeof value === "string" ? replace(value) : null;
}

function fieldsOf(type: unknown): Fields {
  if (typeof type !== "string") return {};
  const known: Readonly<Record<string, { readonly fields: Fields }>> = { ...kinds, ...compositions };
  return Object.hasOwn(known, type) ? (known[type]?.fields ?? {}) : {};
}

interface Building {
  readonly crypto: ReceiverCrypto;
  /** JSON pointer of the current part. */
  readonly at: string;
  readonly depth: number;
  readonly problems: ConfigurationProblem[];
  /** Number of verifiers so far. Limited because each may have to be tried for an attacker's message. */
  readonly counted: { verifiers: number };
}

function build(value: unknown, building: Building): SourceVerifier | null {
  const { at, problems, depth } = building;
  const given = objectOf(value);
  if (given === null)
    return fault(problems, { pointer: at, detail: "verification must be an object with a type" });
  const { type } = given;
  if (typeof type !== "string")
    return fault(problems, {
      pointer: `${at}/type`,
      detail: "type is missing: it names how messages are verified",
    });
  if (depth > configurationBounds.depthMax)
    return fault(problems, {
      pointer: at,
      detail: `verifiers must not be nested more than ${configurationBounds.depthMax} levels deep`,
    });
  if (Object.hasOwn(compositions, type)) return buildComposition(type, given, building);
  const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (kind === undefined) return fault(problems, { pointer: `${at}/type`, detail: unknownType(type) });
  building.counted.verifiers++;
  if (building.counted.verifiers > configurationBounds.allVerifiersMax)
    return fault(problems, {
      pointer: at,
      detail: `no more than ${configurationBounds.allVerifiersMax} verifiers are allowed in total`,
    });
  const faulty = fieldProblems(given, kind.fields, at);
  problems.push(...faulty);
  return faulty.length > 0 ? null : buildOne(type, given, { ...building, kind });
}

function buildOne(
  type: string,
  given: Configuration,
  { crypto, at, problems, kind }: Building & { readonly kind: VerifierKind | ProviderKind },
): SourceVerifier | null {
  try {
    const verifier = kind.build(crypto, given);
    const preset = "preset" in kind ? kind.preset : null;
    return singleSource(crypto, { type, given, verifier, preset, covers: kind.covers(given) });
  } catch (error) {
    if (!(error instanceof ReceiverError)) throw error;
    const detail = error.message.replaceAll(/\b[a-z]+(?:[A-Z][a-z]+)+\b/g, inSnakeCase);
    const field = detail.match(/\w+/g)?.find((word) => Object.hasOwn(kind.fields, word));
    const keys = "public_keys" in kind.fields ? "public_keys" : "secrets";
    return fault(problems, { pointer: `${at}/${field ?? keys}`, detail });
  }
}

function buildComposition(type: string, given: Configuration, building: Building): SourceVerifier | null {
  const { at, problems, depth } = building;
  const faulty = fieldProblems(given, compositions[type]?.fields ?? {}, at);
  problems.push(...faulty);
  if (faulty.length > 0) return null;
  const parts = (given["verifiers"] as readonly unknown[]).map((each, index) =>
    build(each, { ...building, at: `${at}/verifiers/${index}`, depth: depth + 1 }),
  );
  const sources = parts.filter((part) => part !== null);
  if (sources.length < parts.length) return null;
  return type === "any_of" ? anyOfSources(sources) : allOfSources(sources);
}

function fault(problems: ConfigurationProblem[], problem: ConfigurationProblem): null {
  problems.push(problem);
  return null;
}

function unknownType(type: string): string {
  const known = [...Object.keys(kinds), ...Object.keys(compositions)];
  const meant = closestName(type, known);
  return `unknown verification type ${type.slice(0, 64)}; ${
    meant === null ? `the types are ${known.toSorted().join(", ")}` : `did you mean ${meant}?`
  }`;
}

function inSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
