// Runs the test files given as arguments in one process, because starting a process takes longer than the tests of a
// short file. Each file is a suite, so that its hooks apply only to its own tests.

import { relative } from "node:path";
import { suite } from "node:test";
import { pathToFileURL } from "node:url";

for (const path of process.argv.slice(2)) {
  suite(relative(process.cwd(), path), async () => {
    await import(pathToFileURL(path).href);
  });
}
