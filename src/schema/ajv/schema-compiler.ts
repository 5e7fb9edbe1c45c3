import { Worker } from "node:worker_threads";
import type { FieldProblem, SchemaCompiler } from "../../ports/schema-compiler.ts";
import type { CheckedSchema } from "./check-schema.ts";
import { createValidator } from "./generated-validator.ts";
import { refusal, sizeProblemOf } from "./schema-limits.ts";

/**
 * Compiles tenants' schemas with ajv, on the assumption that schema and data are written to block the process:
 *
 * - The schema is bounded in bytes, depth and number of subschemas, and every keyword is known (schema-limits.ts).
 * - It is compiled to code on a separate thread, one schema at a time; only the finished code is returned
 *   to this thread (check-schema.ts).
 * - References stay inside the schema; nothing is ever fetched.
 * - Patterns run in linear time on our own matcher (pattern-program.ts).
 * - `enum`, `uniqueItems` and `dependentRequired` are replaced by versions whose cost is linear in the data.
 * - Every applied subschema and every pattern step is charged to a budget (validation-cost.ts), so one validation takes
 *   some tens of milliseconds in the worst case. Exceeding the budget is reported as a problem with the event and does
 *   not block the process.
 */
export function createSchemaCompiler(): SchemaCompiler {
  const thread = new CompileThread();
  return {
    async compile(schema) {
      if (typeof schema !== "object" || schema === null || Array.isArray(schema))
        return refusal([{ field: "schema", message: "must be a JSON Schema object" }]);
      const size = sizeProblemOf(schema);
      if (size !== null) return refusal([size]);
      const checked = await thread.check(JSON.stringify(schema));
      return checked.kind === "refused" ? checked : createValidator(checked.code);
    },
  };
}

interface Waiting {
  readonly schema: string;
  readonly resolve: (checked: CheckedSchema) => void;
  readonly reject: (error: Error) => void;
}

/** Starts with the first schema and ends after a period without schemas. */
class CompileThread {
  #worker: Worker | null = null;
  #running: Waiting | null = null;
  readonly #waiting: Waiting[] = [];
  #patience: NodeJS.Timeout | undefined;

  check(schema: string): Promise<CheckedSchema> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ schema, resolve, reject });
      if (this.#running === null) this.#next();
    });
  }

  #next(): void {
    clearTimeout(this.#patience);
    this.#running = this.#waiting.shift() ?? null;
    if (this.#running === null) {
      // Idle: the thread must not keep the process alive.
      this.#worker?.unref();
      this.#patience = setTimeout(() => this.#end(), idleMs).unref();
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage(this.#running.schema);
    this.#patience = setTimeout(() => this.#beyondBounds(), compileMsMax);
  }

  #start(): Worker {
    // Source and compiled files are in the same folder and differ in their extension.
    const ending = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
    const worker = new Worker(new URL(`./compile-worker${ending}`, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: threadMbMax },
    });
    worker.on("message", (checked: CheckedSchema) => this.#done(checked));
    worker.on("error", (error: Error & { readonly code?: string }) => {
      if (error.code === "ERR_WORKER_OUT_OF_MEMORY") return this.#beyondBounds();
      this.#end();
      this.#running?.reject(error);
      this.#next();
    });
    return worker;
  }

  #done(checked: CheckedSchema): void {
    this.#running?.resolve(checked);
    this.#next();
  }

  /** The next schema gets a new thread. */
  #beyondBounds(): void {
    this.#end();
    this.#done(refusal([beyondBounds]));
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = null;
    worker?.removeAllListeners();
    worker?.on("error", () => undefined);
    void worker?.terminate();
  }
}

const beyondBounds: FieldProblem = {
  field: "schema",
  message: "takes too much time or memory to be compiled",
};
/** Timeout for compiling a schema: a hundred times as long as the largest schema takes. */
const compileMsMax = 60_000;
const idleMs = 30_000;
const threadMbMax = 256;
