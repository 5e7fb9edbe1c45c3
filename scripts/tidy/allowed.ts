// Deliberate exceptions to the tidy rules, each with its reason, in allowed.json. The lists may only shrink: an entry
// that is no longer needed is itself a failure.

import allowed from "./allowed.json" with { type: "json" };

/** Functions over the cap, `path#name`, with the length they may not exceed. */
export const allowedFunctionLines: Readonly<Record<string, number>> = allowed.functionLines;

/** Exports that nothing imports, `path#name`, with the reason. */
export const allowedDeadExports: Readonly<Record<string, string>> = allowed.deadExports;

/** Keeps the problems that are not allowed, and adds one for each exception that has become unnecessary. */
export function withoutAllowed(
  problems: ReadonlyMap<string, string>,
  exceptions: Readonly<Record<string, unknown>>,
): string[] {
  const remaining = [...problems].filter(([key]) => !(key in exceptions)).map(([, problem]) => problem);
  const unnecessary = Object.keys(exceptions)
    .filter((key) => !problems.has(key))
    .map((key) => `scripts/tidy/allowed.json: ${key} is no longer needed, remove it`);
  return [...remaining, ...unnecessary];
}
