import type { FieldProblem, ValidationAllowance } from "./schema-compiler.ts";
import type { EventTypeKey } from "./store/registry.ts";

/** The schemas that tenants registered for their event types. */
export interface EventSchemas {
  /** Null when `problems` can answer at once; otherwise resolves when it is worth asking again. */
  prepare(eventType: EventTypeKey): Promise<void> | null;
  /** Of data that is published as this type; none without a schema. Without an allowance the bound of one event holds. */
  problems(
    event: EventTypeKey & { readonly data: unknown },
    allowance?: ValidationAllowance,
  ): readonly FieldProblem[];
}
