/**
 * JSON Schemas that carry the TypeScript type of what they accept, so that a handler receives what its schema promises.
 * Hand-written, because we need only these nine functions: TypeBox would load 373 modules for them, a fifth of the
 * processor time of each start.
 */

declare const allowed: unique symbol;
const isOptional = Symbol("optional");

/** A JSON Schema, 2020-12. `T` is the type of valid values. */
export interface Schema<T = unknown> {
  readonly [allowed]?: T;
  readonly [keyword: string]: unknown;
}

/** Marks a member that may be absent. */
export interface Optional {
  readonly [isOptional]: true;
}

/** The type of valid values. */
export type Static<S extends Schema> = S extends Schema<infer T> ? T : never;

export type Properties = Readonly<Record<string, Schema>>;

type OptionalNames<P extends Properties> = {
  [Name in keyof P]: P[Name] extends Optional ? Name : never;
}[keyof P];

export type ObjectSchema<P extends Properties> = Schema<
  { [Name in Exclude<keyof P, OptionalNames<P>>]: Static<P[Name]> } & {
    [Name in OptionalNames<P>]?: Static<P[Name]>;
  }
> & { readonly properties: P };

type Keywords = Readonly<Record<string, unknown>> | object;

export const Type = {
  String: (keywords: Keywords = {}): Schema<string> => ({ type: "string", ...keywords }),
  Integer: (keywords: Keywords = {}): Schema<number> => ({ type: "integer", ...keywords }),
  Number: (keywords: Keywords = {}): Schema<number> => ({ type: "number", ...keywords }),
  Boolean: (keywords: Keywords = {}): Schema<boolean> => ({ type: "boolean", ...keywords }),

  Literal: <const V extends string | number | boolean>(value: V, keywords: Keywords = {}): Schema<V> => ({
    type: typeof value,
    const: value,
    ...keywords,
  }),

  Array: <S extends Schema>(items: S, keywords: Keywords = {}): Schema<Static<S>[]> => ({
    type: "array",
    items,
    ...keywords,
  }),

  /** Members are required unless created with `Optional`. */
  Object<P extends Properties>(properties: P, keywords: Keywords = {}): ObjectSchema<P> {
    const required = Object.keys(properties).filter((name) => !(isOptional in (properties[name] ?? {})));
    return { type: "object", ...(required.length > 0 && { required }), properties, ...keywords };
  },

  Optional: <S extends Schema>(schema: S): S & Optional => ({ ...schema, [isOptional]: true }),

  /** Any schema, with a type asserted by the caller. */
  Unsafe: <T>(schema: Keywords): Schema<T> => ({ ...schema }),
} as const;
