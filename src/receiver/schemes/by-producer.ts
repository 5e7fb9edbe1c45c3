import { keyTexts, misconfigured } from "../providers/options.ts";

/**
 * Secrets, keys or tokens as texts: one, several during a rotation, or those of several producers by their names. The
 * name becomes `producer` of what is verified; without names it is `default`. At most 16 for one producer, and 64 in all.
 */
export type ByProducer = string | readonly string[] | Readonly<Record<string, string | readonly string[]>>;

const producersMax = 256;
/**
 * Of all producers together: each key may have to be tried for a message of an attacker. More producers than that get
 * endpoints of their own.
 */
const keysMax = 64;

/**
 * Every text with its producer, read by `read`. Throws ReceiverError `misconfigured`, which names the option, when there
 * is none.
 */
export function readByProducer<Value>(
  given: ByProducer,
  { option, read: readText }: { readonly option: string; readonly read: (text: string) => Value },
): readonly { readonly producer: string; readonly value: Value }[] {
  const isNamed = typeof given === "object" && given !== null && !Array.isArray(given);
  const named = isNamed ? Object.entries(given) : [["default", given] as const];
  if (named.length === 0) throw misconfigured(`${option}: at least one producer is needed`);
  if (named.length > producersMax)
    throw misconfigured(`${option}: at most ${producersMax} producers can be given`);
  const read = named.flatMap(([producer, texts]) => {
    if (producer === "") throw misconfigured(`${option}: a producer has a name`);
    return keyTexts(texts, option).map((text) => ({ producer, value: readText(text) }));
  });
  if (read.length > keysMax) throw misconfigured(`${option}: at most ${keysMax} keys can be given in all`);
  return read;
}
