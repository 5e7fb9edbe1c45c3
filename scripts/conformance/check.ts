// Part of `npm run check`: every row has a state, and the page says so.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckResult } from "../check.ts";
import { projectRoot } from "../source-files.ts";
import { findEverything, type RowState } from "./findings.ts";
import { pagePath, writePage } from "./page.ts";

export function checkConformance(): CheckResult {
  const findings = findEverything();
  const file = join(projectRoot, pagePath);
  const stored = existsSync(file) ? readFileSync(file, "utf8") : "";
  const isInStep = stored === writePage(findings);
  const rows = [...findings.byDocument.values()].flat();
  const countOf = (wanted: RowState): number => rows.filter(({ state }) => state === wanted).length;
  return {
    problems: [
      ...(isInStep ? [] : [`${pagePath} is not what the tests say; run: npm run conformance`]),
      ...findings.problems,
    ],
    note: `${rows.length} rows: ${countOf("proved")} proved, ${countOf("otherwise")} otherwise, ${countOf("partly")} partly, ${countOf("not-built")} not built`,
  };
}
