import { Look } from "../core/filter/filter.ts";
import { isRawNumber } from "../core/json/lossless.ts";
import { StepBudget } from "../core/step-budget.ts";
import type { Clock } from "../ports/clock.ts";
import { memberAt, readJsonBody } from "../receiver/presets/value-source.ts";

/**
 * Maximum steps of all rules of all connections for one message (docs/decisions/steps-per-message.md). Fifty
 * connections with filters of 500 conditions take 25,000.
 */
const stepsMax = 1_000_000;
/** Serializing this many characters costs one step. */
const charactersPerStep = 16;
/** After this many steps (some milliseconds), other requests get a turn. */
const stepsPerTurn = 50_000;

/** A message as read by the rules of its source and of all its connections: parsed once, within one budget. */
export class MessageReading {
  readonly look: Look;
  readonly #budget: StepBudget;
  readonly #bytes: Uint8Array;
  readonly #texts = new Map<string, string | undefined>();
  #body: { readonly value: unknown } | null = null;
  #turnAt = stepsPerTurn;

  constructor(bytes: Uint8Array, budget = new StepBudget(stepsMax)) {
    this.#bytes = bytes;
    this.#budget = budget;
    this.look = new Look(budget);
  }

  /** Undefined if it is not JSON. */
  get body(): unknown {
    this.#body ??= { value: readJsonBody(this.#bytes) };
    return this.#body.value;
  }

  /**
   * The member at a JSON pointer as JSON text; undefined if it is missing. Throws a RangeError if it is nested too
   * deep.
   */
  textAt(pointer: string): string | undefined {
    if (!this.#texts.has(pointer)) {
      this.#budget.spend(1 + Math.floor(pointer.length / charactersPerStep));
      this.#texts.set(pointer, this.#written(memberAt(this.body, pointer)));
    }
    return this.#texts.get(pointer);
  }

  /** The body without these members as JSON text; undefined if it is not JSON. */
  textWithout(pointers: readonly string[]): string | undefined {
    let value = this.body;
    for (const pointer of pointers) value = this.#without(value, pointer === "" ? [] : tokensOf(pointer));
    return this.#written(value);
  }

  /** Call between pieces of work: yields to other requests if this message took many steps since the last call. */
  async turn(clock: Pick<Clock, "defer">): Promise<void> {
    if (this.#budget.spent < this.#turnAt) return;
    await new Promise<void>((resolve) => clock.defer(resolve));
    this.#turnAt = this.#budget.spent + stepsPerTurn;
  }

  /** Copies the value along the path, because other rules read the same value. */
  #without(value: unknown, [token, ...rest]: readonly string[]): unknown {
    if (token === undefined || typeof value !== "object" || value === null || isRawNumber(value))
      return value;
    if (!Object.hasOwn(value, token)) return value;
    const entries = Object.keys(value).length;
    this.#budget.spend(1 + entries);
    const copy = (Array.isArray(value) ? [...(value as readonly unknown[])] : { ...value }) as Record<
      string,
      unknown
    >;
    if (rest.length === 0) Reflect.deleteProperty(copy, token);
    else copy[token] = this.#without(copy[token], rest);
    return copy;
  }

  #written(value: unknown): string | undefined {
    const text = value === undefined ? undefined : JSON.stringify(value);
    this.#budget.spend(Math.ceil((text?.length ?? 0) / charactersPerStep));
    return text;
  }
}

function tokensOf(pointer: string): readonly string[] {
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}
