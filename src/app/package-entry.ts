/**
 * What `import "posthorn"` and `require("posthorn")` load: `library.ts`, once it is certain that this Node can read it. An older
 * one would fail over the first module that it does not have, and say nothing of versions.
 */
import { createRequire } from "node:module";
import { nodeProblem } from "./needed-node.ts";
import type * as library from "./library.ts";

const problem = nodeProblem(process.versions.node);
if (problem !== null) throw new Error(problem);

// Not `await import`, with which nothing could be loaded by `require`.
export const {
  DuplicateEventError,
  InvalidRequestError,
  NotFoundError,
  openPosthorn,
  PayloadTooLargeError,
  PosthornError,
  SchemaViolationError,
  SettingsError,
  UnavailableError,
} = createRequire(import.meta.url)("./library.js") as typeof library;
