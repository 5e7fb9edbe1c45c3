/**
 * JSON parsing that keeps all digits of numbers. A double has 53 bits: `9007199254740993` would become a different
 * number, and 1e400 infinity. Such a number is parsed as `JSON.rawJSON`, which `JSON.stringify` writes unchanged; every
 * other number is an ordinary one. Filters compare numbers by value: 1, 1.0 and 1e0 are equal, and so are 0 and -0
 * (docs/decisions/numbers-in-json.md).
 */

/** A number that a double cannot represent, with its digits. */
export interface RawNumber {
  readonly rawJSON: string;
}

/** The configured TypeScript library does not declare these functions. */
const native = JSON as unknown as {
  rawJSON(text: string): RawNumber;
  /** Not available before Node 22; older versions round numbers. */
  isRawJSON?: (value: unknown) => boolean;
};

export function isRawNumber(value: unknown): value is RawNumber {
  return native.isRawJSON?.(value) === true;
}

/** Throws a SyntaxError like `JSON.parse`. */
export function parseLossless(text: string): unknown {
  return mayHaveInexact.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
}

/** Like `parseLossless`, but equal numbers get the same spelling, so that equal values have equal texts. */
export function parseCanonical(text: string): unknown {
  return mayHaveInexact.test(text) ? JSON.parse(text, keepCanonical) : JSON.parse(text);
}

/**
 * Members of a request body that are stored as documents with exact numbers. Numbers in all other members are doubles.
 */
const documents = ["metadata", "filter", "schema", "examples", "data", "message"];

/** Returns a parsed and validated body with the exact numbers in its documents. */
export function withExactDocuments(text: string, body: unknown): unknown {
  if (typeof body !== "object" || body === null || !mayHaveInexact.test(text)) return body;
  const exact = parseLossless(text) as Readonly<Record<string, unknown>>;
  const kept = documents
    .filter((name) => Object.hasOwn(body, name))
    .map((name) => [name, exact[name]] as const);
  return { ...body, ...Object.fromEntries(kept) };
}

/** The value with numbers rounded to doubles, as calculations and schemas need it. */
export function withDoubles(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isRawNumber(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) return value.map(withDoubles);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withDoubles(member)]));
}

/** The third argument of a reviver; missing in runtimes that cannot keep digits. */
interface ReviverContext {
  readonly source?: string;
}

/** Reviver for `JSON.parse`: keeps the text of a number that parsing would change. */
function keepDigits(_name: string, value: unknown, context?: ReviverContext): unknown {
  const source = context?.source;
  return typeof value !== "number" || source === undefined || isExact(value, source)
    ? value
    : native.rawJSON(source);
}

function keepCanonical(_name: string, value: unknown, context?: ReviverContext): unknown {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined || isExact(value, source)) return value;
  return native.rawJSON(canonicalNumber(source));
}

/** Shorter numbers without an exponent fit a double exactly. The pattern may also match inside strings. */
const mayHaveInexact = /[\d.]{16}|\d[eE]/;

/** Whether the double represents the number exactly. Also true if the runtime cannot keep digits. */
function isExact(value: number, source: string): boolean {
  if (native.isRawJSON === undefined) return true;
  return Number.isFinite(value) && canonicalNumber(String(value)) === canonicalNumber(source);
}

interface Decimal {
  readonly isNegative: boolean;
  /** The digits without leading and trailing zeros; empty for zero. */
  readonly digits: string;
  /** The value of the number is 0.DIGITS times ten to this power. */
  readonly exponent: bigint;
}

/** Maximum length of an exponent. Arithmetic on longer exponents takes time that grows faster than their length. */
const exponentDigitsMax = 400;
const exponentLimit = 10n ** BigInt(exponentDigitsMax);

/** A longer exponent sorts after all shorter ones. Long exponents are compared by length and first digits. */
function exponentOf(power: string): bigint {
  const isNegative = power.startsWith("-");
  const digits = power.replace(/^[+-]?0*(?=\d)/, "");
  const size =
    digits.length <= exponentDigitsMax
      ? BigInt(digits)
      : exponentLimit * BigInt(digits.length) + BigInt(digits.slice(0, exponentDigitsMax));
  return isNegative ? -size : size;
}

function isBeyondCalculation({ exponent }: Decimal): boolean {
  return exponent >= exponentLimit || exponent <= -exponentLimit;
}

function decimalOf(text: string): Decimal {
  const isNegative = text.startsWith("-");
  const [mantissa = "", power = "0"] = text.slice(isNegative ? 1 : 0).split(/[eE]/);
  const [whole = "", fraction = ""] = mantissa.split(".");
  const all = whole + fraction;
  let start = 0;
  while (all[start] === "0") start += 1;
  let end = all.length;
  while (end > start && all[end - 1] === "0") end -= 1;
  if (start === end) return { isNegative: false, digits: "", exponent: 0n };
  return {
    isNegative,
    digits: all.slice(start, end),
    exponent: exponentOf(power) + BigInt(whole.length - start),
  };
}

/** One text for all spellings of a number: `1.0`, `10e-1` and `1` have the same result. The result is a JSON number. */
export function canonicalNumber(text: string): string {
  return canonicalOf(decimalOf(text), text);
}

function canonicalOf(decimal: Decimal, text: string): string {
  const { isNegative, digits, exponent } = decimal;
  if (digits === "") return "0";
  // The text is returned unchanged, so it differs from all other texts, even from other spellings of the same number.
  if (isBeyondCalculation(decimal)) return text;
  const power = exponent - BigInt(digits.length);
  return `${isNegative ? "-" : ""}${digits}${power === 0n ? "" : `e${power}`}`;
}

interface ReadNumber {
  readonly decimal: Decimal;
  readonly canonical: string;
}

/** Filters compare one number of a message many times, and the number may be as long as the message. */
const readNumbers = new WeakMap<RawNumber, ReadNumber>();

function read(value: RawNumber): ReadNumber {
  let known = readNumbers.get(value);
  if (known === undefined) {
    const { rawJSON } = value;
    const decimal = decimalOf(rawJSON);
    readNumbers.set(value, (known = { decimal, canonical: canonicalOf(decimal, rawJSON) }));
  }
  return known;
}

/** `canonicalNumber` of a parsed number, computed once. */
export function canonicalText(value: RawNumber): string {
  return read(value).canonical;
}

/** A whole number with all its digits and no exponent; null for fractions and for longer numbers. */
export function wholeNumberText(value: number | RawNumber, lengthMax: number): string | null {
  // The number may have been rounded, which this runtime cannot detect.
  if (typeof value === "number" && !Number.isSafeInteger(value) && native.isRawJSON === undefined)
    return null;
  const { isNegative, digits, exponent } = decimalIn(value);
  if (digits === "") return "0";
  if (exponent < BigInt(digits.length) || exponent > BigInt(lengthMax)) return null;
  const text = `${isNegative ? "-" : ""}${digits.padEnd(Number(exponent), "0")}`;
  return text.length > lengthMax ? null : text;
}

/** Negative, zero or positive, like `left - right`. */
export function compareNumbers(left: number | RawNumber, right: number | RawNumber): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  const [a, b] = [decimalIn(left), decimalIn(right)];
  if (a.digits === "" || b.digits === "" || a.isNegative !== b.isNegative) return signOf(a) - signOf(b);
  return signOf(a) * compareMagnitudes(a, b);
}

function compareMagnitudes(a: Decimal, b: Decimal): number {
  if (a.exponent !== b.exponent) return a.exponent < b.exponent ? -1 : 1;
  if (a.digits === b.digits) return 0;
  return a.digits < b.digits ? -1 : 1;
}

function signOf({ isNegative, digits }: Decimal): number {
  if (digits === "") return 0;
  return isNegative ? -1 : 1;
}

function decimalIn(value: number | RawNumber): Decimal {
  return typeof value === "number" ? decimalOf(String(value)) : read(value).decimal;
}
