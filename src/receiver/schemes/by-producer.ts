import { keyTexts, misconfigured } from "../providers/options.ts";

/**
 * Secrets, keys or tokens as strings: one, several during a rotation, or those of several producers by name. The name
 * becomes `producer` of verified messages; without names it is `default`. Up to 16 for one producer, and 64 in total.
 */
export type ByProducer = string | readonly string[] | Readonly<Record<string, string | readonly string[]>>;

const producersMax = 256;
/**
 * For all producers together, because each key may have to be tried for an attacker's message. Use separate endpoints
 * for more producers.
 */
const keysMax = 64;

/**
 * All values with their producers, converted by `read`. Throws ReceiverError `misconfigured`, which names the option,
 * if there are none.
 */
export function readByProducer<Value>(
  given: ByProducer,
  option: string,
  readText: (text: string) => Value,
): readonly { readonly producer: string; readonly value: Value }[] {
  const isNamed = typeof given === "object" && given !== null && !Array.isArray(given);
  const named = isNamed ? Object.entries(given) : [["default", given] as const];
  if (named.length === 0) throw misconfigured(`${option}: at least one producer is needed`);
  if (named.length > producersMax)
    throw misconfigured(`${option}: no more than ${producersMax} producers can be given`);
  const read = named.flatMap(([producer, texts]) => {
    if (producer === "") throw misconfigured(`${option}: a producer must have a name`);
    return keyTexts(texts, option).map((text) => ({ producer, value: readText(text) }));
  });
  if (read.length > keysMax)
    throw misconfigured(`${option}: no more than ${keysMax} keys can be given in total`);
  return read;
}
