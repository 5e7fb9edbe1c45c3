// `npm run monitoring`: writes deploy/monitoring from the lists of alerts and panels.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { monitoringFiles } from "./monitoring/files.ts";
import { projectRoot } from "./source-files.ts";

for (const [path, text] of monitoringFiles()) {
  const target = join(projectRoot, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
  process.stdout.write(`${path} is written\n`);
}
