/**
 * Compiles the JSON Schema (2020-12) that a tenant registered for an event type.
 *
 * The schema is hostile input: an adapter refuses remote references, runaway patterns and schemas beyond its size and
 * depth limits, and bounds what validation may cost.
 */
export interface SchemaCompiler {
  /** Takes the time that the schema needs, but never the event loop. */
  compile(schema: unknown): Promise<CompiledSchema | SchemaRefusal>;
}

/** A schema in use: fast, and safe to run on any data that fits the size limit. */
export interface CompiledSchema {
  readonly kind: "compiled";
  /** Memory that it takes, about. */
  readonly bytes: number;
  /**
   * Problems of this value, at most ten; empty when it is valid. `field` is a path such as `data.order.id`. What it
   * costs is taken from `allowance`; a value for which not enough is left has a problem that says so.
   */
  validate(data: unknown, allowance?: ValidationAllowance): readonly FieldProblem[];
}

/** What the validations of one request may cost together. A unit is about a tenth of a microsecond. */
export interface ValidationAllowance {
  unitsLeft: number;
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
