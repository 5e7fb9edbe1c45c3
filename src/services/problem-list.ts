import { type FieldError, InvalidRequestError } from "../core/errors.ts";

/**
 * Collects all problems of a request, so that the caller can fix them at once. Field names are API paths; values never
 * appear in messages.
 */
export class ProblemList {
  readonly #problems: FieldError[] = [];

  get isEmpty(): boolean {
    return this.#problems.length === 0;
  }

  add(problem: FieldError): void {
    this.#problems.push(problem);
  }

  /** Fields that contradict each other; each is listed. `message` continues a sentence that starts with the field. */
  contradiction(fields: readonly string[], message: string): void {
    for (const field of fields) this.add({ field, message });
  }

  /** Throws if there are problems. `what` starts the sentence, such as `the webhook`. */
  throwIfAny(what: string): void {
    if (this.isEmpty) return;
    const names = this.#problems.slice(0, fieldsNamedMax).map((problem) => problem.field);
    const more = this.#problems.length > fieldsNamedMax ? ", …" : "";
    throw new InvalidRequestError(`${what} is not valid: ${names.join(", ")}${more}`, this.#problems);
  }

  /** The value if it is allowed; otherwise reports a problem and returns null. */
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
