import assert from "node:assert/strict";
import { test } from "node:test";
import type { CompiledSchema, SchemaCompiler } from "../../ports/schema-compiler.ts";
import type { EventType, RegistryStore } from "../../ports/store/registry.ts";
import { SchemaRegistry } from "./schema-registry.ts";

const key = { tenantId: "acme", name: "order.paid" };
const invalid = [{ field: "data", message: "is not what the schema says" }];

interface Scene {
  readonly registry: SchemaRegistry;
  readonly stored: Map<string, EventType>;
  readonly reads: string[];
  readonly compiled: unknown[];
  /** Store reads wait for this promise. */
  reading: Promise<unknown>;
}

function scene(): Scene {
  const stored = new Map<string, EventType>();
  const reads: string[] = [];
  const compiled: unknown[] = [];
  const store: Pick<RegistryStore, "eventType"> = {
    async eventType({ tenantId, name }) {
      reads.push(`${tenantId} ${name}`);
      const found = stored.get(`${tenantId} ${name}`) ?? null;
      await made.reading;
      return found;
    },
  };
  const compiler: SchemaCompiler = {
    async compile(schema): Promise<CompiledSchema> {
      compiled.push(schema);
      return { kind: "compiled", bytes: 1, validate: (data) => (data === schema ? [] : invalid) };
    },
  };
  const registry = new SchemaRegistry(store as RegistryStore, compiler);
  const made: Scene = { registry, stored, reads, compiled, reading: Promise.resolve() };
  return made;
}

function save(made: Scene, schema: unknown): void {
  made.stored.set("acme order.paid", { ...key, schema } as EventType);
}

async function problems({ registry }: Scene, data: unknown) {
  for (let reading = registry.prepare(key); reading !== null; reading = registry.prepare(key)) await reading;
  return registry.problems({ ...key, data });
}

test("only published types are read, each of them once", async () => {
  const made = scene();
  save(made, "text");
  made.stored.set("beta order.paid", { ...key, tenantId: "beta", schema: "unused" } as EventType);
  assert.deepEqual(made.reads, []);
  const [first, second] = await Promise.all([problems(made, "text"), problems(made, "other")]);
  assert.deepEqual([first, second], [[], invalid]);
  assert.equal(made.registry.prepare(key), null);
  assert.deepEqual([made.reads, made.compiled], [["acme order.paid"], ["text"]]);
});

test("after a change by another process all are read again, and only changed ones are compiled again", async () => {
  const made = scene();
  save(made, "text");
  await problems(made, "text");
  made.registry.mayHaveChanged();
  assert.deepEqual(await problems(made, "text"), []);
  assert.deepEqual([made.reads.length, made.compiled.length], [2, 1]);
  save(made, "new");
  made.registry.mayHaveChanged();
  assert.deepEqual(await problems(made, "text"), invalid);
  assert.deepEqual(made.compiled, ["text", "new"]);
});

test("data read before a change is not used after it", async () => {
  const made = scene();
  save(made, "old");
  const read = Promise.withResolvers<null>();
  made.reading = read.promise;
  const judged = problems(made, "old");
  save(made, "new");
  made.registry.changed(key);
  made.reading = Promise.resolve();
  read.resolve(null);
  assert.deepEqual(await judged, invalid);
});

test("a type without a schema, or an unregistered one, accepts everything", async () => {
  const made = scene();
  assert.deepEqual(await problems(made, 1), []);
  save(made, null);
  made.registry.changed(key);
  assert.deepEqual(await problems(made, 1), []);
  assert.deepEqual(made.compiled, []);
});
