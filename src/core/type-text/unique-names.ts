/** Unique identifiers for generated code. */
export class UniqueNames {
  readonly #taken: Set<string>;

  constructor(reserved: readonly string[] = []) {
    this.#taken = new Set(reserved);
  }

  /** `order.line_item.added` becomes `OrderLineItemAdded`; a number is appended if the name is taken. */
  of(text: string): string {
    const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
    const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
    const base = /^[A-Za-z]/.test(joined) ? joined : `Event${joined}`;
    return untaken(base, this.#taken);
  }
}

/** The name, with a number appended if it is taken; it is taken from then on. */
export function untaken(base: string, taken: Set<string>, separator: string = ""): string {
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}${separator}${number}`;
  taken.add(name);
  return name;
}
