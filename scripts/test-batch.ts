// The test files named as arguments, in one process: a process of its own costs a short file more than its tests do. Each is a
// suite, so that what a file does before and after its tests is done for these alone.

import { relative } from "node:path";
import { suite } from "node:test";
import { pathToFileURL } from "node:url";

for (const path of process.argv.slice(2)) {
  suite(relative(process.cwd(), path), async () => {
    await import(pathToFileURL(path).href);
  });
}
