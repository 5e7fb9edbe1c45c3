/**
 * Declares what a setting is, and how its raw value is parsed.
 *
 * Flags and environment variables are strings, while a YAML file has typed values. Both are parsed by the same
 * function, so that a setting means the same in every place.
 */

/** One setting, declared once; all code that reads, prints or documents settings uses this declaration. */
export interface Option<Value = unknown> {
  /** `POSTHORN_MAX_PAYLOAD_BYTES`; the flag and the key in a file follow from it. */
  readonly env: string;
  readonly group: OptionGroup;
  /** One or two sentences for users. */
  readonly description: string;
  readonly kind: ValueKind<Value>;
  readonly fallback: Value;
  /** Shown instead of the default if the default is not a constant. */
  readonly fallbackText?: string;
  /**
   * Masked in all output, readable from a file through `NAME_FILE`, and never a flag, because flags are visible in
   * `ps`.
   */
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
/** Section of the settings page that a setting belongs to. */
export type OptionGroup = (typeof optionGroups)[number];

/** How a value is parsed and formatted. */
export interface ValueKind<Value> {
  /** For documentation: `integer, 1 to 65535`. */
  readonly title: string;
  readonly unit: string | null;
  /** Problems never quote the value, so they may be shown for secrets too. */
  readonly problemsHideValue?: true;
  read(raw: unknown): Reading<Value>;
  /** The text that parses to this value. */
  show(value: Value): string;
}

/** A value, or a problem: the rest of a sentence that starts with the name of the setting. */
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

/** Prefix of all our environment variables. */
export const envPrefix = "POSTHORN_";

/** Declares a setting with the value type of its kind. */
export function option<Value>(given: Option<Value>): Option<Value> {
  return given;
}
