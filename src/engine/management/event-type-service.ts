import { NotFoundError, PosthornError } from "../../core/errors.ts";
import { isEventTypeName, isSystemEventType } from "../../core/event-type.ts";
import type { Clock } from "../../ports/clock.ts";
import type { SchemaCompiler } from "../../ports/schema-compiler.ts";
import type { EventType, RegistryStore } from "../../ports/store/registry.ts";
import type { EventTypeInput, EventTypeService, Scope } from "../services.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { isRecord, jsonBytes, ProblemList } from "./problem-list.ts";
import type { SchemaRegistry } from "./schema-registry.ts";
import { resolveTenant, tenantFilter } from "./scope.ts";
import type { TenantDirectory } from "./tenant-directory.ts";

export interface EventTypeServiceOptions {
  readonly registry: RegistryStore;
  readonly compiler: SchemaCompiler;
  readonly schemas: SchemaRegistry;
  readonly tenants: TenantDirectory;
  readonly clock: Clock;
}

const eventTypesMax = 1_000;
const descriptionLengthMax = 2_000;
const examplesMax = 20;
const examplesBytesMax = 256 * 1024;

/** The catalogue: what a tenant publishes, with schemas that events are held to. */
export class EventTypes implements EventTypeService {
  readonly #options: EventTypeServiceOptions;
  readonly #changes = new KeyedQueue();

  constructor(options: EventTypeServiceOptions) {
    this.#options = options;
  }

  async list(scope: Scope, query: { readonly tenantId: string | null }): Promise<readonly EventType[]> {
    const tenantId = tenantFilter({ scope, tenantId: query.tenantId });
    const all = await this.#options.registry.eventTypes();
    return all.filter((eventType) => tenantId === null || eventType.tenantId === tenantId);
  }

  async get(
    scope: Scope,
    query: { readonly tenantId: string | null; readonly name: string },
  ): Promise<EventType> {
    const tenantId = resolveTenant(this.#options.tenants, { scope, tenantId: query.tenantId });
    const found = (await this.#ofTenant(tenantId)).find(({ name }) => name === query.name);
    if (found === undefined) throw new NotFoundError("the event type");
    return found;
  }

  async put(
    scope: Scope,
    command: EventTypeInput,
  ): Promise<{ readonly eventType: EventType; readonly created: boolean }> {
    const tenantId = resolveTenant(this.#options.tenants, { scope, tenantId: command.tenantId });
    return this.#changes.run(tenantId, () => this.#put(tenantId, command));
  }

  async delete(
    scope: Scope,
    query: { readonly tenantId: string | null; readonly name: string },
  ): Promise<void> {
    const tenantId = resolveTenant(this.#options.tenants, { scope, tenantId: query.tenantId });
    await this.#changes.run(tenantId, async () => {
      const eventType = { tenantId, name: query.name };
      if (!(await this.#options.registry.deleteEventType(eventType)))
        throw new NotFoundError("the event type");
      this.#options.schemas.delete(eventType);
    });
  }

  async #put(
    tenantId: string,
    input: EventTypeInput,
  ): Promise<{ readonly eventType: EventType; readonly created: boolean }> {
    const { registry, schemas, clock } = this.#options;
    const existing = await this.#ofTenant(tenantId);
    const before = existing.find(({ name }) => name === input.name);
    const now = clock.now();
    const eventType: EventType = {
      tenantId,
      name: input.name,
      description: input.description ?? before?.description ?? "",
      schema: input.schema === undefined ? (before?.schema ?? null) : input.schema,
      examples: input.examples ?? before?.examples ?? [],
      deprecated: input.deprecated ?? before?.deprecated ?? false,
      createdAt: before?.createdAt ?? now,
      updatedAt: now,
    };
    this.#validate(eventType);
    if (before === undefined && existing.length >= eventTypesMax) {
      throw new PosthornError(
        "limit_reached",
        `the tenant has ${existing.length} event types; its limit is ${eventTypesMax}`,
      );
    }
    await registry.saveEventType(eventType);
    schemas.put(eventType);
    return { eventType, created: before === undefined };
  }

  #validate(eventType: EventType): void {
    const problems = new ProblemList();
    const { name, description, deprecated } = eventType;
    if (typeof name !== "string" || !isEventTypeName(name)) {
      const message =
        "must be words of letters, digits and _ joined by dots, such as user.created (128 characters at most)";
      problems.add({ field: "name", message });
    } else if (isSystemEventType(name)) {
      problems.add({ field: "name", message: "types that start with posthorn. are the system's own" });
    }
    problems.text("description", { value: description, lengthMin: 0, lengthMax: descriptionLengthMax });
    if (typeof deprecated !== "boolean")
      problems.add({ field: "deprecated", message: "must be true or false" });
    this.#checkSchema(eventType, problems);
    problems.throwIfAny("the event type");
  }

  /** Examples must match the schema: they are what receivers build on. */
  #checkSchema({ schema, examples }: EventType, problems: ProblemList): void {
    if (
      !Array.isArray(examples) ||
      examples.length > examplesMax ||
      (jsonBytes(examples) ?? Infinity) > examplesBytesMax
    ) {
      const message = `must be a list of at most ${examplesMax} objects, ${examplesBytesMax} bytes in all as JSON`;
      problems.add({ field: "examples", message });
      return;
    }
    const compiled = schema === null ? null : this.#options.compiler.compile(schema);
    if (compiled?.kind === "refused") {
      for (const problem of compiled.problems) problems.add(problem);
      return;
    }
    for (const [index, example] of examples.entries()) {
      if (!isRecord(example)) {
        problems.add({ field: `examples[${index}]`, message: "must be an object" });
        continue;
      }
      for (const { field, message } of compiled?.validate(example) ?? []) {
        problems.add({ field: field.replace(/^data/, `examples[${index}]`), message });
      }
    }
  }

  async #ofTenant(tenantId: string): Promise<readonly EventType[]> {
    return (await this.#options.registry.eventTypes()).filter((eventType) => eventType.tenantId === tenantId);
  }
}
