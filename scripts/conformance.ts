// `npm run conformance`: writes docs/conformance.md from the names of the tests, and says what is missing.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { findEverything } from "./conformance/findings.ts";
import { pagePath, writePage } from "./conformance/page.ts";
import { projectRoot } from "./source-files.ts";

const findings = findEverything();
writeFileSync(join(projectRoot, pagePath), writePage(findings));
process.stdout.write(`${pagePath} is written\n`);
if (findings.problems.length > 0) {
  process.stderr.write(`${findings.problems.join("\n")}\n`);
  process.exitCode = 1;
}
