/**
 * Declares what a setting is, and how its raw value is parsed.
 *
 * Flags and environment variables are strings, while a YAML file has typed values. Both are parsed by the same
 * function, so that a setting has the same meaning in every place.
 */

/** One setting. It is declared only once; all code that reads, prints or documents settings uses this declaration. */
export interface Option<Value = unknown> {
  /** Such as `POSTHORN_MAX_PAYLOAD_BYTES`. The flag and the key in a file are derived from it. */
  readonly env: string;
  readonly group: OptionGroup;
  /** One or two sentences of user documentation. */
  readonly description: string;
  readonly kind: ValueKind<Value>;
  readonly fallback: Value;
  /** Shown in place of the default if the default is not a constant. */
  readonly fallbackText?: string;
  /**
   * Masked in all output, readable from a file through `NAME_FILE`, and never available as a flag, because flags are
   * visible in `ps`.
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
/** Section of the settings page to which a setting belongs. */
export type OptionGroup = (typeof optionGroups)[number];

/** How a value is parsed and formatted. */
export interface ValueKind<Value> {
  /** Used in the documentation, such as `integer, 1 to 65535`. */
  readonly title: string;
  readonly unit: string | null;
  /** True if problems never quote the value, so that they may also be shown for secrets. */
  readonly problemsHideValue?: true;
  read(raw: unknown): Reading<Value>;
  /** The text that parses to this value. */
  show(value: Value): string;
}

/** A value, or a problem that continues a sentence starting with the name of the setting. */
export type Reading<Value> =
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "problem"; readonly problem: string };

/** Returns `--max-payload-bytes` for `POSTHORN_MAX_PAYLOAD_BYTES`. */
export function flagOf(declared: Pick<Option, "env">): string {
  return `--${fileKeyOf(declared).replaceAll("_", "-")}`;
}

/** Returns `max_payload_bytes` for `POSTHORN_MAX_PAYLOAD_BYTES`. */
export function fileKeyOf({ env }: Pick<Option, "env">): string {
  return env.slice(envPrefix.length).toLowerCase();
}

/** Prefix of all Posthorn environment variables. */
export const envPrefix = "POSTHORN_";

/** Declares a setting whose value type is determined by its kind. */
export function option<Value>(given: Option<Value>): Option<Value> {
  return given;
}
