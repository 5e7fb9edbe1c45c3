import { definitionsOf, definitionKeywords, referenceKey } from "../../core/type-text/schema-definitions.ts";
import { type UniqueNames, untaken } from "../../core/type-text/unique-names.ts";
import type { EventType } from "../../ports/store/registry.ts";
import { type NamedSchema, openObject, schemaPointer } from "./body-schemas.ts";
import { embedSchema, type PointerTo } from "./embedded-schema.ts";

/** Schemas of an event type's data: `name` for the data, and one for each definition in its schema. */
interface DataSchemas {
  readonly name: string;
  readonly schemas: readonly NamedSchema[];
}

/**
 * Definitions become separate components, because generators mistake `$defs` within a component for a member or drop
 * it. Each has a title, which generators use as a class name, unless the author set one.
 */
export function dataSchemas(eventType: EventType, titles: UniqueNames): DataSchemas {
  const name = `${eventType.name}-content`;
  const title = titles.of(eventType.name);
  const parts = definitionsOf(eventType.schema);
  const places = new Map(componentNames(parts).map((own, at) => [parts[at]?.key, `${name}-${own}`]));
  const pointerTo = pointersTo(name, places);
  return {
    name,
    schemas: [
      [name, described(eventType, title, pointerTo)],
      ...parts.map((part): NamedSchema => {
        const schema = asObject(embedSchema(part.definition, pointerTo));
        return [places.get(part.key) ?? "", { title: titles.of(`${title} ${part.name}`), ...schema }];
      }),
    ],
  };
}

/** Unique component names. */
function componentNames(parts: readonly { readonly name: string }[]): readonly string[] {
  const taken = new Set<string>();
  return parts.map(({ name }) => untaken(name.replaceAll(/[^\w.-]/g, "_"), taken, "_"));
}

/** Maps a reference to a definition, to a place inside one, or to a place in the surrounding schema. */
function pointersTo(dataName: string, places: ReadonlyMap<string | undefined, string>): PointerTo {
  return (reference) => {
    const [root = "", keyword = "", definition = "", ...inside] = reference.split("/");
    const place = places.get(referenceKey([root, keyword, definition].join("/")));
    if (place === undefined) return schemaPointer + dataName + reference.slice(1);
    return [schemaPointer + place, ...inside].join("/");
  };
}

/** Without a registered schema, only the rule for publishing applies: data is a non-empty object. */
function described(
  { schema, description, deprecated }: EventType,
  title: string,
  pointerTo: PointerTo,
): object {
  const own =
    schema === null ? { ...openObject, minProperties: 1 } : asObject(embedSchema(schema, pointerTo));
  const { [definitionKeywords[0]]: _new, [definitionKeywords[1]]: _old, ...rest } = own;
  return {
    title,
    ...(description !== "" && { description }),
    ...(deprecated && { deprecated }),
    ...rest,
  };
}

function asObject(schema: unknown): Readonly<Record<string, unknown>> {
  if (typeof schema === "object") return schema as Readonly<Record<string, unknown>>;
  return schema === true ? {} : { not: {} };
}
