/** The ways in which messages of a source can be verified, and what a form of each begins with and becomes. */
import type { SourceType } from "../../shared/resources.ts";

type SourceTypeField = SourceType["fields"][number];

/** Those whose name, or what is verified there, has every word of the text. */
export function typesMatching(types: readonly SourceType[], text: string): readonly SourceType[] {
  const words = text.trim().toLowerCase().split(/\s+/);
  return types.filter(({ type, title }) =>
    words.every((word) => `${type} ${title}`.toLowerCase().includes(word)),
  );
}

/** Without what stands in brackets, such as the names of products. */
export function shortTitle({ title }: SourceType): string {
  return title.replace(/ \(.*\)$/, "");
}

/** By name of the field; the second of two secrets stands under its name and `second`. */
export type TypedVerification = Readonly<Record<string, string>>;

export const secondOf = (name: string): string => `${name} second`;

/** Fields whose value follows from the address of the source: nobody knows it before the source is made. */
export const addressFields: Readonly<Record<string, (url: string) => string>> = {
  public_url: (url) => url,
  public_origin: (url) => new URL(url).origin,
};

/** What a source has, as it would be typed: what is masked has to be given anew. */
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

/** Of one value or several, each as it would be typed. */
export function textsOf(value: unknown): readonly string[] {
  const values = Array.isArray(value) ? (value as readonly unknown[]) : [value];
  return values.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
}

/** As the API takes it. Empty fields are left out; what is missing is said by the server, which knows all rules. */
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

/** A secret may hold any character; of others several stand between commas. */
function listOf({ is_secret }: SourceTypeField, given: readonly string[]): readonly string[] | undefined {
  const texts = is_secret ? given : given.flatMap((text) => text.split(/[\s,]+/));
  const filled = texts.filter((one) => one !== "");
  return filled.length === 0 ? undefined : filled;
}

/** What is no number is sent as it is, and refused with the rule. */
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

/** The field with what the sender proves itself by; null where there is none. */
export function secretField({ fields }: SourceType): SourceTypeField | null {
  return fields.find(isProof) ?? null;
}

/** Secrets, public keys or fingerprints, of which there are two while they change. */
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
/** Their keys are public ones of the provider, so that no random text can stand for one. */
const publicKeyTypes: ReadonlySet<string> = new Set([
  "discord",
  "sendgrid",
  "http_signatures",
  "client_certificate",
  "any_of",
  "all_of",
  "none",
]);

/** A secret that nobody can guess, in the form that the type has; null where a secret cannot be made up. */
export function randomSecret({ type }: Pick<SourceType, "type">): string | null {
  if (publicKeyTypes.has(type)) return null;
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  if (type === "adyen") return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const base64 = btoa(String.fromCharCode(...bytes));
  if (whsecTypes.has(type)) return `whsec_${base64}`;
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
