import type { FieldProblem, ValidationAllowance } from "./schema-compiler.ts";
import type { EventTypeKey } from "./store/registry.ts";

/** The schemas that tenants registered for their event types. */
export interface EventSchemas {
  /** Null when `problems` can answer immediately. Otherwise resolves when it is worth calling again. */
  prepare(eventType: EventTypeKey): Promise<void> | null;
  /**
   * Problems of data published as this type; empty without a schema. Without an allowance, the limit for one event
   * applies.
   */
  problems(
    event: EventTypeKey & { readonly data: unknown },
    allowance?: ValidationAllowance,
  ): readonly FieldProblem[];
}
