import type { EventTypeKey } from "./store/registry.ts";

/**
 * Compiles the JSON Schema (2020-12) that a tenant registered for an event type.
 *
 * The schema is hostile input. An adapter therefore refuses remote references, runaway patterns and schemas that exceed
 * its size and depth limits, and it limits the cost of validation.
 */
export interface SchemaCompiler {
  /** May take a long time for a large schema, but does not block the event loop. */
  compile(schema: unknown): Promise<CompiledSchema | SchemaRefusal>;
}

/** A compiled schema. It is fast, and safe to run on any data that fits the size limit. */
export interface CompiledSchema {
  readonly kind: "compiled";
  /** Approximate memory use of the compiled schema. */
  readonly bytes: number;
  /**
   * Problems with this value, at most ten; empty if the value is valid. `field` is a path such as `data.order.id`. The
   * cost is deducted from `allowance`. If the allowance is too small, the result contains a problem that says so.
   */
  validate(data: unknown, allowance?: ValidationAllowance): readonly FieldProblem[];
}

/** The budget for all validations of one request. One unit is about a tenth of a microsecond. */
export interface ValidationAllowance {
  unitsLeft: number;
}

/** Why a schema cannot be used; fields are paths inside the schema. */
export interface SchemaRefusal {
  readonly kind: "refused";
  readonly problems: readonly FieldProblem[];
}

/** One invalid location and what is wrong there. Never contains the value. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

/** The schemas that tenants registered for their event types. */
export interface EventSchemas {
  /**
   * Prepares the schema of an event type. Null if `problems` can be called immediately; otherwise resolves when
   * `prepare` should be called again.
   */
  prepare(eventType: EventTypeKey): Promise<void> | null;
  /**
   * Problems with data published as this type; empty if the type has no schema. Without an allowance, the limit for one
   * event applies.
   */
  problems(
    event: EventTypeKey & { readonly data: unknown },
    allowance?: ValidationAllowance,
  ): readonly FieldProblem[];
}
