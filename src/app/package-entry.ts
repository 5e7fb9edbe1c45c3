/**
 * Entry point of `import "posthorn"` and `require("posthorn")`. Loads `library.ts` after checking the Node version:
 * an old Node would fail at the first missing module, without mentioning versions.
 */
import { createRequire } from "node:module";
import { nodeProblem } from "./needed-node.ts";
import type * as library from "./library.ts";

const problem = nodeProblem(process.versions.node);
if (problem !== null) throw new Error(problem);

// `await import` cannot be used, because `require` cannot load modules with top-level await.
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
