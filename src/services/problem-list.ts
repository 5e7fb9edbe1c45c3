import { type FieldError, InvalidRequestError } from "../core/errors.ts";

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

const fieldsNamedMax = 5;
