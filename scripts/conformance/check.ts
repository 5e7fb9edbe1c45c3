// Part of `npm test`: every row is proved or has its reason, and the page says so.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckResult } from "../check.ts";
import { projectRoot } from "../source-files.ts";
import { findEverything } from "./findings.ts";
import { pagePath, writePage } from "./page.ts";

export function checkConformance(): CheckResult {
  const findings = findEverything();
  const file = join(projectRoot, pagePath);
  const stored = existsSync(file) ? readFileSync(file, "utf8") : "";
  const isInStep = stored === writePage(findings);
  const rows = [...findings.byDocument.values()].flat();
  const proved = rows.filter(({ tests }) => tests.length > 0).length;
  return {
    problems: [
      ...(isInStep ? [] : [`${pagePath} is not what the tests say; run: npm run conformance`]),
      ...findings.problems,
    ],
    note: `${rows.length} rows, ${proved} proved by tests`,
  };
}
