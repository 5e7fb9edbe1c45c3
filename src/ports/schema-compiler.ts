/**
 * Compiles the JSON Schema (2020-12) that a tenant registered for an event type.
 *
 * The schema is hostile input: an adapter refuses remote references, runaway patterns and schemas beyond its size and
 * depth limits, and bounds what validation may cost.
 */
export interface SchemaCompiler {
  compile(schema: unknown): CompiledSchema | SchemaRefusal;
}

/** A schema in use: fast, and safe to run on any data that fits the size limit. */
export interface CompiledSchema {
  readonly kind: "compiled";
  /** Problems of this value, at most ten; empty when it is valid. `field` is a path such as `data.order.id`. */
  validate(data: unknown): readonly FieldProblem[];
}

/** Why a schema cannot be used; fields are paths inside the schema. */
export interface SchemaRefusal {
  readonly kind: "refused";
  readonly problems: readonly FieldProblem[];
}

/** One place that is wrong, and how; never the value itself. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}
