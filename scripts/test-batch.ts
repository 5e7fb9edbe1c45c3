// Runs the test files in the arguments in one process, because a process costs a short file more than its tests. Each file is a
// suite, so that its hooks apply to its tests only.

import { relative } from "node:path";
import { suite } from "node:test";
import { pathToFileURL } from "node:url";

for (const path of process.argv.slice(2)) {
  suite(relative(process.cwd(), path), async () => {
    await import(pathToFileURL(path).href);
  });
}
