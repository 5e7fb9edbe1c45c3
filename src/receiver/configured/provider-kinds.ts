/** The providers as values of `type`. Their fields depend on what they sign. */
import { bindProviders } from "../providers/index.ts";
import { schemeOf, type SchemeName, schemeNames } from "../providers/provider-table.ts";
import { isTimed, type ProviderScheme, signsAddress } from "../providers/scheme-verifier.ts";
import { type PresetDescription, presetTable } from "../presets/preset-table.ts";
import type { Configuration, ConfigurationField, Fields } from "./fields.ts";
import {
  secretTexts,
  text,
  textIn,
  textsIn,
  tolerance,
  toleranceIn,
  type VerifierKind,
} from "./verifier-kinds.ts";

export interface ProviderKind extends VerifierKind {
  readonly preset: PresetDescription;
}

export const providerKinds: Readonly<Record<string, ProviderKind>> = Object.fromEntries(
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
      const publicUrl = textIn(given, "public_url");
      const verifiers: Verifiers = bindProviders(crypto) as unknown as Verifiers;
      const options = {
        secrets: textsIn(given, "secrets"),
        publicKeys: textsIn(given, "public_keys"),
        ...(publicUrl !== undefined && { publicUrl }),
        ...toleranceIn(given),
      };
      return verifiers[name]?.(options) ?? { verify: () => refusal };
    },
    covers: (given) => (isTokenAlone(name, given) ? "request" : signedHeaders(scheme)),
  };
}

/** Unreachable while the table and the functions list the same providers; refuses in any case. */
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
