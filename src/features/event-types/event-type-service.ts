import { NotFoundError, PosthornError } from "../../domain/errors.ts";
import { isSystemEventType } from "../../domain/event-type.ts";
import { withDoubles } from "../../domain/json/lossless.ts";
import { jsonBytes } from "../../domain/plain-record.ts";
import type { SchemaCompiler } from "../../ports/schema-compiler.ts";
import type { EventType, EventTypeKey, EventTypePage } from "../../ports/store/registry.ts";
import { eventTypeFields, type EventTypeInput, type EventTypeName } from "../../resources/event-type.ts";
import { defaultOf, judgeField } from "../../resources/field.ts";
import { eventTypeField, pageLimitField } from "../../resources/names.ts";
import { ProblemList, readFields } from "../input.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import { resolveTenant, tenantFilter } from "../visibility.ts";
import type { FeatureContext, Scope } from "../services.ts";
import type { SchemaRegistry } from "./schema-registry.ts";

const eventTypesMax = 1_000;
/** Budget for validating all examples of a type; equal to the budget for one event. */
const examplesValidationUnitsMax = 250_000;
/**
 * Maximum size of all event types of a tenant as JSON, because the documents about its webhooks include all of them.
 */
const catalogueBytesMax = 4 * 1024 * 1024;
/** Limits memory, because a page stays in memory until a slow client has read it. */
const pageBytesMax = 1024 * 1024;

export interface EventTypeListQuery {
  readonly tenantId: string | null;
  readonly limit?: number;
  readonly offset?: number;
  readonly after?: EventTypeKey | null;
}

interface PutEventType {
  readonly eventType: EventType;
  readonly created: boolean;
}

/** The catalogue contains a tenant's event types with the schemas that events must match. */
export class EventTypes {
  readonly #context: FeatureContext;
  readonly #compiler: SchemaCompiler;
  readonly #schemas: SchemaRegistry;
  readonly #changes = new KeyedQueue();

  constructor(context: FeatureContext, compiler: SchemaCompiler, schemas: SchemaRegistry) {
    this.#context = context;
    this.#compiler = compiler;
    this.#schemas = schemas;
  }

  /**
   * The event types, sorted by tenant and name. A page ends after `limit` rows (default 50) or about one megabyte;
   * `next` is the `after` of the next page.
   */
  async list(scope: Scope, query: EventTypeListQuery): Promise<EventTypePage> {
    const tenantId = tenantFilter(scope, query.tenantId);
    const { limit = defaultOf(pageLimitField), offset = 0, after = null } = query;
    return this.#context.store.registry.eventTypePage({
      tenantId,
      after,
      offset,
      limit,
      bytesMax: pageBytesMax,
    });
  }

  async get(scope: Scope, query: EventTypeName): Promise<EventType> {
    const tenantId = resolveTenant(this.#context.tenants, scope, query.tenantId);
    const found = await this.#context.store.registry.eventType({ tenantId, name: query.name });
    if (found === null) throw new NotFoundError("the event type");
    return found;
  }

  async put(scope: Scope, command: EventTypeInput): Promise<PutEventType> {
    const tenantId = resolveTenant(this.#context.tenants, scope, command.tenantId);
    return this.#changes.run(tenantId, () => this.#put(scope, { ...command, tenantId }));
  }

  async delete(scope: Scope, query: EventTypeName): Promise<void> {
    const tenantId = resolveTenant(this.#context.tenants, scope, query.tenantId);
    await this.#changes.run(tenantId, async () => {
      const eventType = { tenantId, name: query.name };
      const audit = scope.audit?.take({ id: query.name, tenantId });
      if (!(await this.#context.store.registry.deleteEventType(eventType, audit)))
        throw new NotFoundError("the event type");
      this.#schemas.changed(eventType);
    });
  }

  async #put(scope: Scope, input: EventTypeInput & { readonly tenantId: string }): Promise<PutEventType> {
    const {
      clock,
      store: { registry },
    } = this.#context;
    const { name, tenantId } = input;
    const before = typeof name === "string" ? await registry.eventType({ tenantId, name }) : null;
    const now = clock.now();
    const problems = new ProblemList();
    const base = before ?? { ...blank, tenantId, name, createdAt: now };
    const eventType: EventType = {
      ...base,
      ...readFields(eventTypeFields, input, problems),
      updatedAt: now,
    };
    reportName(name, problems);
    await this.#checkSchema(eventType, problems);
    problems.throwIfAny("the event type");
    await this.#checkRoom(eventType, before);
    await registry.saveEventType(eventType, scope.audit?.take({ id: name, tenantId }));
    this.#schemas.changed(eventType);
    return { eventType, created: before === null };
  }

  /** A catalogue from a version without a limit may exceed the current limit. Such a catalogue may still shrink. */
  async #checkRoom(eventType: EventType, before: EventType | null): Promise<void> {
    const { count, bytes } = await this.#context.store.registry.eventTypeUsage(eventType.tenantId);
    if (before === null && count >= eventTypesMax) {
      const message = `the limit of ${eventTypesMax} event types for a tenant is reached; there are ${count}`;
      throw new PosthornError("limit_reached", message);
    }
    const growth = (jsonBytes(eventType) ?? 0) - (before === null ? 0 : (jsonBytes(before) ?? 0));
    if (growth <= 0 || bytes + growth <= catalogueBytesMax) return;
    const message = `the limit of ${catalogueBytesMax} bytes for a tenant's event types, with schemas and examples, would be exceeded; they have ${bytes} bytes, and this adds ${growth}`;
    throw new PosthornError("limit_reached", message);
  }

  /** Checks that the examples match the schema, because receivers rely on them. */
  async #checkSchema({ schema, examples }: EventType, problems: ProblemList): Promise<void> {
    const compiled = schema === null ? null : await this.#compiler.compile(schema);
    if (compiled?.kind === "refused") {
      for (const problem of compiled.problems) problems.add(problem);
      return;
    }
    const allowance = { unitsLeft: examplesValidationUnitsMax };
    for (const [index, example] of examples.entries()) {
      for (const { field, message } of compiled?.validate(withDoubles(example), allowance) ?? []) {
        problems.add({ field: field.replace(/^data/, `examples[${index}]`), message });
      }
    }
  }
}

/** Defaults of an event type. */
const blank = {
  description: "",
  schema: null,
  examples: [],
  deprecated: false,
} satisfies Partial<EventType>;

function reportName(name: unknown, problems: ProblemList): void {
  const found = judgeField(eventTypeField, "name", name);
  for (const problem of found) problems.add(problem);
  if (found.length > 0 || !isSystemEventType(String(name))) return;
  problems.add({
    field: "name",
    message: "types that start with posthorn. are reserved for operational events",
  });
}
