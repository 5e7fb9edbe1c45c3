/** The theme of the host decides what endpoints are called. */
import { type MessageKey, t, type Values } from "./language.ts";
import { session } from "./session.ts";

/** Messages with a variant for each of the three nouns. */
type NounKey = "title.many" | "add" | "title.one" | "empty" | "delete" | "disable" | "enable";

export function noun(key: NounKey, values: Values = {}): string {
  const word = session.value?.theme.words ?? "endpoint";
  return t(`noun.${word}.${key}` as MessageKey, values);
}
