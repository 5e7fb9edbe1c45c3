/** The thread of schema-compiler.ts: compiling the largest schemas takes almost a second. */
import { parentPort } from "node:worker_threads";
import { checkSchema } from "./check-schema.ts";

parentPort?.on("message", (schema: string) => {
  parentPort?.postMessage(checkSchema(JSON.parse(schema) as Record<string, unknown>));
});
