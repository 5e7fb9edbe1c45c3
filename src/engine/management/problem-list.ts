import { type FieldError, InvalidRequestError } from "../../core/errors.ts";

/**
 * Collects everything that is wrong with a request, so that its author mends it once and not field by field.
 * Field names are paths of the API; values never appear in messages.
 */
export class ProblemList {
  readonly #problems: FieldError[] = [];

  get isEmpty(): boolean {
    return this.#problems.length === 0;
  }

  add(problem: FieldError): void {
    this.#problems.push(problem);
  }

  /** Fields that cannot be had together; each is named. `message` is the rest of a sentence that begins with either. */
  contradiction(fields: readonly string[], message: string): void {
    for (const field of fields) this.add({ field, message });
  }

  /** Throws when there are any. `what` begins the sentence: `the webhook`. */
  throwIfAny(what: string): void {
    if (this.isEmpty) return;
    const names = this.#problems.slice(0, fieldsNamedMax).map((problem) => problem.field);
    const more = this.#problems.length > fieldsNamedMax ? ", …" : "";
    throw new InvalidRequestError(`${what} is not valid: ${names.join(", ")}${more}`, this.#problems);
  }

  /** The value when it is a number in the range, else null and a problem. */
  number(field: string, range: NumberRange): number | null {
    const { value, min, max, whole } = range;
    if (typeof value === "number" && value >= min && value <= max && (!whole || Number.isInteger(value)))
      return value;
    this.add({ field, message: `must be a ${whole ? "whole " : ""}number from ${min} to ${max}` });
    return null;
  }

  /** The value when it is a text of so many characters without control characters, else null and a problem. */
  text(field: string, bounds: TextBounds): string | null {
    const { value, lengthMin, lengthMax } = bounds;
    const fits = typeof value === "string" && value.length >= lengthMin && value.length <= lengthMax;
    if (fits && !controlCharacter.test(value)) return value;
    this.add({
      field,
      message: `must be a text of ${lengthMin} to ${lengthMax} characters without control characters`,
    });
    return null;
  }

  /** The value when it is true or false, `false` for null, the one before when it is absent. */
  flag(field: string, change: { readonly value: unknown; readonly before: boolean }): boolean {
    const { value, before } = change;
    if (value === undefined) return before;
    if (value === null || typeof value === "boolean") return value ?? false;
    this.add({ field, message: "must be true or false" });
    return before;
  }

  /** The value when it is one of those allowed, else null and a problem. */
  oneOf<Choice extends string>(
    field: string,
    choice: { readonly value: unknown; readonly allowed: readonly Choice[] },
  ): Choice | null {
    const found = choice.allowed.find((allowed) => allowed === choice.value);
    if (found === undefined) this.add({ field, message: `must be one of ${choice.allowed.join(", ")}` });
    return found ?? null;
  }
}

export interface NumberRange {
  readonly value: unknown;
  readonly min: number;
  readonly max: number;
  readonly whole: boolean;
}

export interface TextBounds {
  readonly value: unknown;
  readonly lengthMin: number;
  readonly lengthMax: number;
}

/**
 * Whether a value is a plain object with named fields. A `Map` or `Headers` of a library call has none of its own and
 * would be read as an empty object.
 */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** Bytes of the value as JSON, or null when it cannot be written as JSON. */
export function jsonBytes(value: unknown): number | null {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? null : Buffer.byteLength(text);
  } catch {
    return null;
  }
}

const fieldsNamedMax = 5;
/** Line breaks and tabs are fine in a description; the rest breaks logs and terminals. */
const controlCharacter = /(?![\n\r\t])\p{Cc}/u;
