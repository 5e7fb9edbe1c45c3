import { createHash } from "node:crypto";
import type {
  CompiledSchema,
  FieldProblem,
  SchemaCompiler,
  ValidationAllowance,
} from "../../ports/schema-compiler.ts";
import type { EventType, EventTypeKey, RegistryStore } from "../../ports/store/registry.ts";
import type { EventSchemas } from "../../ports/event-schemas.ts";

/** What is known of event types at a time. */
const knownMax = 10_000;
/** Of compiled schemas: they take from some kilobytes to more than a megabyte. */
const compiledBytesMax = 128 * 1024 * 1024;

/** Of one event type. `accepts` is null where every object is accepted, because it has no schema or is not registered. */
interface Known {
  readonly digest: string;
  readonly accepts: CompiledSchema | "refused" | null;
}

/**
 * The schemas of registered event types, asked for every event that is published. A schema is read and compiled when
 * the first event of its type comes, so that neither a start nor a change waits for the catalogues of all tenants; those
 * used last stay compiled.
 */
export class SchemaRegistry implements EventSchemas {
  readonly #registry: RegistryStore;
  readonly #compiler: SchemaCompiler;
  /** In the order of their last use. */
  readonly #known = new Map<string, Known>();
  /** Known, but perhaps changed by another process since. */
  readonly #stale = new Map<string, Known>();
  readonly #reading = new Map<string, Promise<void>>();
  /** Of all compiled schemas, stale ones too. */
  #bytes = 0;
  /** Of the last change, so that what was read before it is not kept. */
  #change = 0;

  constructor(from: { readonly registry: RegistryStore; readonly compiler: SchemaCompiler }) {
    this.#registry = from.registry;
    this.#compiler = from.compiler;
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
    if (known === undefined) throw new Error("prepare comes first");
    this.#known.delete(key);
    this.#known.set(key, known);
    if (known.accepts === null) return [];
    // It was accepted when it was registered, by a version with other limits.
    if (known.accepts === "refused") return noLongerAccepted;
    return known.accepts.validate(event.data, allowance);
  }

  /** Other processes may have changed some. What did not change stays compiled. */
  mayHaveChanged(): void {
    this.#change += 1;
    for (const [key, known] of this.#known) this.#stale.set(key, known);
    this.#known.clear();
  }

  /** After the store has it, or has forgotten it. */
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
    // Whoever waits asks again.
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

  /** What was used last stays, however large it is. */
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

/** Instead of the schema's text, which may be long. */
function digestOf(stored: EventType | null): string {
  const schema = stored?.schema ?? null;
  return schema === null ? "" : createHash("sha256").update(JSON.stringify(schema)).digest("base64");
}

/** A space is in neither. */
function keyOf({ tenantId, name }: EventTypeKey): string {
  return `${tenantId} ${name}`;
}
