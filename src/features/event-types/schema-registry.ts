import { createHash } from "node:crypto";
import type {
  CompiledSchema,
  EventSchemas,
  FieldProblem,
  SchemaCompiler,
  ValidationAllowance,
} from "../../ports/schema-compiler.ts";
import type { EventType, EventTypeKey, RegistryStore } from "../../ports/store/registry.ts";

/** Maximum number of cached event types. */
const knownMax = 10_000;
/** Maximum size of compiled schemas, which take from a few kilobytes to more than a megabyte each. */
const compiledBytesMax = 128 * 1024 * 1024;

/** An event type. `accepts` is null if every object is valid, because the type has no schema or is not registered. */
interface Known {
  readonly digest: string;
  readonly accepts: CompiledSchema | "refused" | null;
}

/**
 * Caches the schemas of registered event types, used for every published event. A schema is read and compiled for the
 * first event of its type, so that neither startup nor a change waits for the catalogues of all tenants. The most
 * recently used schemas stay compiled.
 */
export class SchemaRegistry implements EventSchemas {
  readonly #registry: RegistryStore;
  readonly #compiler: SchemaCompiler;
  /** Ordered by last use. */
  readonly #known = new Map<string, Known>();
  /** Cached event types that another process may have changed. */
  readonly #stale = new Map<string, Known>();
  readonly #reading = new Map<string, Promise<void>>();
  /** Size of all compiled schemas, including stale ones. */
  #bytes = 0;
  /** Sequence number of the last change. The result of a read that started before that change is discarded. */
  #change = 0;

  constructor(registry: RegistryStore, compiler: SchemaCompiler) {
    this.#registry = registry;
    this.#compiler = compiler;
  }

  prepare(eventType: EventTypeKey): Promise<void> | null {
    const key = keyOf(eventType);
    if (this.#known.has(key)) return null;
    const running = this.#reading.get(key);
    if (running !== undefined) return running;
    const reading = this.#read(eventType).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  problems(
    event: EventTypeKey & { readonly data: unknown },
    allowance?: ValidationAllowance,
  ): readonly FieldProblem[] {
    const key = keyOf(event);
    const known = this.#known.get(key);
    if (known === undefined) throw new Error("prepare was not called for this event type");
    this.#known.delete(key);
    this.#known.set(key, known);
    if (known.accepts === null) return [];
    // The schema was registered with a version that had other limits.
    if (known.accepts === "refused") return noLongerAccepted;
    return known.accepts.validate(event.data, allowance);
  }

  /** Called when other processes may have changed event types. Unchanged types stay compiled. */
  mayHaveChanged(): void {
    this.#change += 1;
    for (const [key, known] of this.#known) this.#stale.set(key, known);
    this.#known.clear();
  }

  /** Called after the store has written or deleted the event type. */
  changed(eventType: EventTypeKey): void {
    this.#change += 1;
    this.#forget(keyOf(eventType));
  }

  async #read(eventType: EventTypeKey): Promise<void> {
    const key = keyOf(eventType);
    const change = this.#change;
    const stored = await this.#registry.eventType(eventType);
    const digest = digestOf(stored);
    const before = this.#stale.get(key);
    const known =
      before?.digest === digest ? before : { digest, accepts: await this.#compile(stored?.schema ?? null) };
    // The result is outdated; a caller that still needs the entry reads it again.
    if (change !== this.#change) return;
    this.#forget(key);
    this.#known.set(key, known);
    this.#bytes += bytesOf(known);
    this.#makeRoom();
  }

  async #compile(schema: unknown): Promise<Known["accepts"]> {
    if (schema === null) return null;
    const result = await this.#compiler.compile(schema);
    return result.kind === "refused" ? "refused" : result;
  }

  #forget(key: string): void {
    for (const known of [this.#known, this.#stale]) {
      this.#bytes -= bytesOf(known.get(key));
      known.delete(key);
    }
  }

  /** Drops the least recently used entries, but keeps the most recently used entry, regardless of its size. */
  #makeRoom(): void {
    while (this.#known.size + this.#stale.size > knownMax || this.#bytes > compiledBytesMax) {
      const [oldest] = this.#stale.size > 0 ? this.#stale.keys() : this.#known.keys();
      if (oldest === undefined || (this.#stale.size === 0 && this.#known.size === 1)) return;
      this.#forget(oldest);
    }
  }
}

const noLongerAccepted: readonly FieldProblem[] = [
  { field: "event_type", message: "has a schema that is no longer accepted; register it again" },
];

function bytesOf(known: Known | undefined): number {
  const accepts = known?.accepts ?? null;
  return accepts === null || accepts === "refused" ? 0 : accepts.bytes;
}

/** Digest of a schema, which is compared in place of the schema's text because the text may be long. */
function digestOf(stored: EventType | null): string {
  const schema = stored?.schema ?? null;
  return schema === null ? "" : createHash("sha256").update(JSON.stringify(schema)).digest("base64");
}

/** Joins the parts with a space, which neither part contains. */
function keyOf({ tenantId, name }: EventTypeKey): string {
  return `${tenantId} ${name}`;
}
