import { Option } from "commander";
import type { Field, Kind } from "../core/fields/field.ts";
import { judgeField } from "../core/fields/judge.ts";
import { tenantIdField } from "../core/fields/names.ts";
import { collect } from "./client-command.ts";
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
    const [problem] = judgeField(this.field, { path, value: valueOf(this.field.kind, given) });
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
