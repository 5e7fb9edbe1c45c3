/** Verification schemes of sources, and the conversion between their forms and the API. */
import type { SourceType } from "../../shared/resources.ts";

type SourceTypeField = SourceType["fields"][number];

/** Types whose name or title contains every word of the text. */
export function typesMatching(types: readonly SourceType[], text: string): readonly SourceType[] {
  const words = text.trim().toLowerCase().split(/\s+/);
  return types.filter(({ type, title }) =>
    words.every((word) => `${type} ${title}`.toLowerCase().includes(word)),
  );
}

/** Title without the part in parentheses, such as product names. */
export function shortTitle({ title }: SourceType): string {
  return title.replace(/ \(.*\)$/, "");
}

/** Typed text, keyed by field name. If a field has two secrets, the key of the second is `secondOf(name)`. */
export type TypedVerification = Readonly<Record<string, string>>;

export const secondOf = (name: string): string => `${name} second`;

/** Fields that are derived from the URL of the source, which is unknown until the source is created. */
export const addressFields: Readonly<Record<string, (url: string) => string>> = {
  public_url: (url) => url,
  public_origin: (url) => new URL(url).origin,
};

/** Converts stored values to typed text. Masked values are left empty. */
export function typedVerification(
  { fields }: SourceType,
  verification: Readonly<Record<string, unknown>>,
): TypedVerification {
  const entries = fields.flatMap((field): readonly (readonly [string, string])[] => {
    const value = verification[field.name];
    if (value === undefined || field.is_secret) return [];
    if (field.kind === "verifiers") return [];
    const texts = textsOf(value);
    if (!isProof(field)) return [[field.name, texts.join(", ")]];
    const [first = "", ...others] = texts;
    return [
      [field.name, first],
      [secondOf(field.name), others.join(", ")],
    ];
  });
  return Object.fromEntries(entries);
}

/** One or several values as typed text. */
export function textsOf(value: unknown): readonly string[] {
  const values = Array.isArray(value) ? (value as readonly unknown[]) : [value];
  return values.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
}

/** Request body. Empty fields are omitted; the server validates required fields. */
export function verificationOf(
  { type, fields }: SourceType,
  typed: TypedVerification,
): Readonly<Record<string, unknown>> {
  const entries = fields.flatMap((field) => {
    const value = valueOf(field, typed);
    return value === undefined ? [] : [[field.name, value] as const];
  });
  return { type, ...Object.fromEntries(entries) };
}

function valueOf(field: SourceTypeField, typed: TypedVerification): unknown {
  const { name, kind } = field;
  const text = (typed[name] ?? "").trim();
  switch (kind) {
    case "texts":
      return listOf(field, [text, (typed[secondOf(name)] ?? "").trim()]);
    case "number":
      return numberOf(text);
    case "verifiers":
      return verifiersOf(text);
    case "text":
    case "choice":
      return text === "" ? undefined : text;
    default:
      return kind satisfies never;
  }
}

/** A secret may contain any character. Other fields take comma-separated values. */
function listOf({ is_secret }: SourceTypeField, given: readonly string[]): readonly string[] | undefined {
  const texts = is_secret ? given : given.flatMap((text) => text.split(/[\s,]+/));
  const filled = texts.filter((one) => one !== "");
  return filled.length === 0 ? undefined : filled;
}

/** Invalid numbers are sent unchanged, so that the server rejects them and names its rule. */
function numberOf(text: string): unknown {
  if (text === "") return undefined;
  return Number.isNaN(Number(text)) ? text : Number(text);
}

function verifiersOf(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Field for the secret, public key or fingerprint. Null if the type does not have one. */
export function secretField({ fields }: SourceType): SourceTypeField | null {
  return fields.find(isProof) ?? null;
}

/** Secrets, public keys or fingerprints. There can be two during a rotation. */
function isProof({ kind, is_required }: SourceTypeField): boolean {
  return kind === "texts" && is_required;
}

const whsecTypes: ReadonlySet<string> = new Set([
  "standard_webhooks",
  "clerk",
  "gitlab",
  "openai",
  "resend",
  "svix",
]);
/** Types that use public keys of the provider, which cannot be generated here. */
const publicKeyTypes: ReadonlySet<string> = new Set([
  "discord",
  "sendgrid",
  "http_signatures",
  "client_certificate",
  "any_of",
  "all_of",
  "none",
]);

/** A random secret in the format of the type. Null if the type has no secret to generate. */
export function randomSecret({ type }: Pick<SourceType, "type">): string | null {
  if (publicKeyTypes.has(type)) return null;
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  if (type === "adyen") return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const base64 = btoa(String.fromCharCode(...bytes));
  if (whsecTypes.has(type)) return `whsec_${base64}`;
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
