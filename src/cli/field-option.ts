import { type Command, Option } from "commander";
import { type Field, judgeField, type Kind } from "../resources/field.ts";
import { rateLimitFields, tenantIdField } from "../resources/names.ts";
import { collect, type OptionValues } from "./client-command.ts";
import { UsageError } from "./failures.ts";

/** An option that sets a field. Its help shows the bounds, and its values are validated before sending. */
export class FieldOption extends Option {
  readonly field: Field;

  /** `says` replaces the description of the field. `none` is the word for null. */
  constructor(flags: string, field: Field, says?: string, none?: string) {
    super(flags, helpOf(field, says));
    this.field = field;
    const isList = field.kind.is === "list";
    this.argParser((text: string, before: unknown): unknown => {
      if (text !== none) this.#check(isList ? text.split(",") : text);
      return isList ? collect(text, before as readonly string[] | undefined) : text;
    });
    // Other defaults are applied by the server.
    if (typeof field.default === "number") this.default(String(field.default));
  }

  /** The message does not contain the value, which may be a secret. */
  #check(given: string | readonly string[]): void {
    const path = this.long ?? "";
    const [problem] = judgeField(this.field, path, valueOf(this.field.kind, given));
    if (problem !== undefined) throw new UsageError(`${path} ${problem.message}`);
  }
}

export function tenantOption(): FieldOption {
  return new FieldOption("--tenant <id>", tenantIdField, "tenant (administrators)");
}

function valueOf(kind: Kind, given: string | readonly string[]): unknown {
  if (typeof given !== "string") return given;
  if (kind.is === "number") return given.trim() === "" ? given : Number(given);
  if (kind.is === "flag") return given === "true" || (given === "false" ? false : given);
  return given;
}

function helpOf({ kind, doc }: Field, says: string | undefined): string {
  const sentence = (says ?? doc ?? "").replaceAll("`", "").replace(/\.$/, "");
  const start = sentence.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());
  const bounds = boundsInHelp(kind);
  return [start, bounds].filter((part) => part !== "").join(start === "" ? "" : ": ");
}

function boundsInHelp(kind: Kind): string {
  switch (kind.is) {
    case "number":
      return `${kind.min} to ${kind.max}`;
    case "choice":
      return `${kind.values.slice(0, -1).join(", ")} or ${kind.values.at(-1) ?? ""}`;
    case "flag":
      return "true or false";
    case "text":
      return `up to ${kind.lengthMax} characters`;
    case "object":
      return kind.shorthand === null ? "" : boundsInHelp(kind.fields[kind.shorthand]?.kind ?? kind);
    default:
      return "";
  }
}

/** `says` describes the rate. "none" removes the limit. */
export function addRateLimitOptions(command: Command, says: string): Command {
  return command
    .addOption(
      new FieldOption(
        "--rate-limit <per-minute>",
        rateLimitFields.requestsPerMinute,
        `${says}, or none to remove the limit`,
        "none",
      ),
    )
    .addOption(
      // No default, so that an omitted option keeps the current value.
      new FieldOption("--burst <requests>", rateLimitFields.burst, "burst size, with --rate-limit").default(
        undefined,
      ),
    );
}

/** Undefined if not given, null to remove the limit. */
export function rateLimitOf(options: OptionValues): object | null | undefined {
  const burst = options.number("burst");
  const isLifted = options.text("rateLimit") === "none";
  const perMinute = isLifted ? undefined : options.number("rateLimit");
  if (burst !== undefined && perMinute === undefined) throw new UsageError("--burst requires --rate-limit");
  if (perMinute === undefined) return isLifted ? null : undefined;
  return { requests_per_minute: perMinute, ...(burst !== undefined && { burst }) };
}
