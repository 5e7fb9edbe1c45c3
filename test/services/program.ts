import { fileURLToPath } from "node:url";

/**
 * The main file of `posthorn` for tests that start servers: bundled where the run of tests has made it
 * (scripts/bundle-program.ts), else the source.
 */
export const programEntry: string =
  process.env["POSTHORN_TEST_PROGRAM"] ?? fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
