import type { CompiledSchema, FieldProblem, SchemaCompiler } from "../../ports/schema-compiler.ts";
import type { EventType, RegistryStore } from "../../ports/store/registry.ts";

/** Compiled schemas kept at a time: some 50 KB each. */
const compiledMax = 1_000;

/**
 * The schemas of registered event types, asked for every event that is published. A schema is compiled when the first
 * event of its type comes, so that a start does not wait for ten thousand of them; those used last stay compiled.
 */
export class SchemaRegistry {
  readonly #compiler: SchemaCompiler;
  readonly #schemas = new Map<string, unknown>();
  /** In the order of their last use. */
  readonly #compiled = new Map<string, CompiledSchema>();

  constructor(compiler: SchemaCompiler) {
    this.#compiler = compiler;
  }

  /** Empty when the type has no schema, or the data matches it. */
  validate(event: {
    readonly tenantId: string;
    readonly eventType: string;
    readonly data: unknown;
  }): readonly FieldProblem[] {
    const key = keyOf({ tenantId: event.tenantId, name: event.eventType });
    if (!this.#schemas.has(key)) return [];
    const known = this.#compiled.get(key);
    if (known !== undefined) {
      this.#keep(key, known);
      return known.validate(event.data);
    }
    const result = this.#compiler.compile(this.#schemas.get(key));
    if (result.kind === "refused") {
      // It was accepted when it was registered, by a version with other limits.
      return [{ field: "event_type", message: "has a schema that is no longer accepted; register it again" }];
    }
    this.#keep(key, result);
    return result.validate(event.data);
  }

  /** All that the store has, when other processes may have changed some. What did not change stays compiled. */
  replaceAll(eventTypes: readonly Pick<EventType, "tenantId" | "name" | "schema">[]): void {
    const gone = new Set(this.#schemas.keys());
    for (const eventType of eventTypes) {
      const key = keyOf(eventType);
      gone.delete(key);
      if (JSON.stringify(this.#schemas.get(key) ?? null) !== JSON.stringify(eventType.schema))
        this.put(eventType);
    }
    for (const key of gone) {
      this.#compiled.delete(key);
      this.#schemas.delete(key);
    }
  }

  /** After the store has it. */
  put(eventType: Pick<EventType, "tenantId" | "name" | "schema">): void {
    const key = keyOf(eventType);
    this.#compiled.delete(key);
    if (eventType.schema === null) this.#schemas.delete(key);
    else this.#schemas.set(key, eventType.schema);
  }

  /** After the store has forgotten it. */
  delete(eventType: Pick<EventType, "tenantId" | "name">): void {
    this.put({ ...eventType, schema: null });
  }

  #keep(key: string, schema: CompiledSchema): void {
    this.#compiled.delete(key);
    this.#compiled.set(key, schema);
    if (this.#compiled.size <= compiledMax) return;
    const [oldest] = this.#compiled.keys();
    if (oldest !== undefined) this.#compiled.delete(oldest);
  }
}

/** Reads the registered schemas. */
export async function loadSchemaRegistry(from: {
  readonly registry: RegistryStore;
  readonly compiler: SchemaCompiler;
}): Promise<SchemaRegistry> {
  const schemas = new SchemaRegistry(from.compiler);
  for (const eventType of await from.registry.eventTypes()) schemas.put(eventType);
  return schemas;
}

/** A space is in neither. */
function keyOf({ tenantId, name }: { readonly tenantId: string; readonly name: string }): string {
  return `${tenantId} ${name}`;
}
