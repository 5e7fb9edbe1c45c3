// The test files named as arguments, in one process: a process of its own costs a short file more than its tests do.

import { pathToFileURL } from "node:url";

for (const path of process.argv.slice(2)) await import(pathToFileURL(path).href);
