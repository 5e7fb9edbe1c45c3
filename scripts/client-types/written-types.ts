import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckResult } from "../check.ts";
import { projectRoot } from "../source-files.ts";
import { apiDocument } from "./api-document.ts";
import { apiTypes } from "./api-types.ts";

export const clientTypesPath = "src/client/api-types.ts";

/** As the formatter has it. */
export function clientTypes(): string {
  const formatter = join(projectRoot, "node_modules", "@biomejs", "biome", "bin", "biome");
  return execFileSync(process.execPath, [formatter, "format", `--stdin-file-path=${clientTypesPath}`], {
    cwd: projectRoot,
    input: apiTypes(apiDocument()),
    encoding: "utf8",
    maxBuffer: 16 * 1_024 * 1_024,
  });
}

/** A check: the file says what the API says. */
export function checkClientTypes(): CheckResult {
  const isCurrent = readFileSync(join(projectRoot, clientTypesPath), "utf8") === clientTypes();
  return { problems: isCurrent ? [] : [`${clientTypesPath} is behind the API; run: npm run client-types`] };
}
