#!/usr/bin/env node
// The `posthorn` command. A package contains the compiled program. In a checkout, the command runs from source with the
// project's own Node.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));
if (existsSync(source)) {
  process.argv.splice(2, 0, "src/cli/main.ts");
  await import("../scripts/with-runtime.mjs");
} else {
  await import("../dist/cli/main.js");
}
