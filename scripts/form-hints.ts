// `npm run form-hints`: writes the webhook settings that the dashboard uses. Pages may import only types from
// `src/resources`, so this file is generated.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiName, apiPath, type Field, type Fields } from "../src/resources/field.ts";
import { webhookFields, webhookFilters, webhookFormLabels } from "../src/resources/webhook.ts";
import { projectRoot } from "./source-files.ts";

/** Maps field types to the form's kinds of inputs. */
const inputs: Readonly<Record<string, string>> = { number: "number", flag: "flag", text: "line" };

/** Filters that have a dedicated control. */
const ownControls: ReadonlySet<string> = new Set(["active", "text", "sort"]);

export function formHints() {
  const settings = Object.entries(webhookFormLabels).map(([name, label]) => {
    const field = (webhookFields as Fields)[name] as Field;
    return { name: apiPath(name, field), label, kind: inputs[field.kind.is] ?? "line" };
  });
  const filters = Object.entries<Field>(webhookFilters)
    .filter(([name]) => !ownControls.has(name))
    .map(([name, field]) => apiName(name, field));
  return { settings, filters };
}

if (import.meta.main) {
  const { settings, filters } = formHints();
  const text = [
    "// Written by `npm run form-hints` from src/resources/webhook.ts.",
    `export const webhookSettings = ${JSON.stringify(settings)} as const;`,
    `export const webhookFilterNames = ${JSON.stringify(filters)} as const;`,
  ].join("\n\n");
  const path = join(projectRoot, "dashboard/shared/webhook-settings.ts");
  writeFileSync(path, `${text}\n`);
  const biome = join(projectRoot, "node_modules/@biomejs/biome/bin/biome");
  execFileSync(process.execPath, [biome, "format", "--write", path]);
}
