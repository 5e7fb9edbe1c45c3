import { fileURLToPath } from "node:url";

/**
 * The main file of `posthorn` for tests that start servers: the bundle if the test run created one
 * (scripts/bundle-program.ts), otherwise the source.
 */
export const programEntry: string =
  process.env["POSTHORN_TEST_PROGRAM"] ?? fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
