/**
 * What an option is, and how the text of one becomes its value.
 *
 * Flags and environment are text, a YAML file has values of its own; both go through the same reader, so that an
 * option means the same wherever it stands.
 */

/** One setting, declared once; everything that reads, prints or documents settings works from this. */
export interface Option<Value = unknown> {
  /** `POSTHORN_MAX_PAYLOAD_BYTES`; the flag and the key in a file follow from it. */
  readonly env: string;
  readonly group: OptionGroup;
  /** One or two sentences for people. */
  readonly description: string;
  readonly kind: ValueKind<Value>;
  readonly fallback: Value;
  /** Shown instead of the default where that is not a constant. */
  readonly fallbackText?: string;
  /** Masked wherever it is shown, readable from a file through `NAME_FILE`, and never a flag: those show in `ps`. */
  readonly secret?: true;
}

/** Headings of docs/configuration.md, in this order. */
export const optionGroups = [
  "Server",
  "Storage",
  "Security",
  "API",
  "Delivery",
  "Gateway",
  "Retention",
  "Notifications",
  "Logging",
] as const;
/** One of {@link optionGroups}. */
export type OptionGroup = (typeof optionGroups)[number];

/** How a value is read and shown. */
export interface ValueKind<Value> {
  /** For documentation: `integer, 1 to 65535`. */
  readonly title: string;
  readonly unit: string | null;
  /** Problems never repeat what was given, so they are shown for secrets, too. */
  readonly problemsHideValue?: true;
  read(raw: unknown): Reading<Value>;
  /** The text that would give this value. */
  show(value: Value): string;
}

/** A value, or the rest of a sentence that starts with the name of the setting. */
export type Reading<Value> =
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "problem"; readonly problem: string };

/** `--max-payload-bytes` for `POSTHORN_MAX_PAYLOAD_BYTES`. */
export function flagOf(declared: Pick<Option, "env">): string {
  return `--${fileKeyOf(declared).replaceAll("_", "-")}`;
}

/** `max_payload_bytes` for `POSTHORN_MAX_PAYLOAD_BYTES`. */
export function fileKeyOf({ env }: Pick<Option, "env">): string {
  return env.slice(envPrefix.length).toLowerCase();
}

/** Every environment variable of ours starts with it. */
export const envPrefix = "POSTHORN_";

/** Declares a setting; its kind says the type of its value. */
export function option<Value>(given: Option<Value>): Option<Value> {
  return given;
}
