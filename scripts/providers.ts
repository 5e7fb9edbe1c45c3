// `npm run providers`: writes docs/gateway/providers from the data of the presets.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { providerPages } from "../src/pages/providers-page.ts";
import { projectRoot } from "./source-files.ts";

for (const [path, text] of providerPages()) {
  const target = join(projectRoot, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
  process.stdout.write(`${path} is written\n`);
}
