import { isSchemaObject } from "./schema-type.ts";

/** A definition that the same document refers to by name. */
export interface SchemaDefinition {
  /** The result of `referenceKey` for a reference to it. */
  readonly key: string;
  /** As the author wrote it. */
  readonly name: string;
  readonly definition: unknown;
}

/** The definitions of a schema, under both keywords for them. */
export function definitionsOf(schema: unknown): readonly SchemaDefinition[] {
  if (!isSchemaObject(schema)) return [];
  return definitionKeywords.flatMap((keyword) => {
    const definitions = schema[keyword];
    if (!isSchemaObject(definitions)) return [];
    return Object.entries(definitions).map(([name, definition]) => ({
      key: `#/${keyword}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
      definition,
      name,
    }));
  });
}

export const definitionKeywords = ["$defs", "definitions"] as const;

/** The normalised form of a local reference: a JSON pointer without the percent-encoding of its fragment. */
export function referenceKey(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}
