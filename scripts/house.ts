// `npm run house`: the figures of the house, of this checkout or of the one in the folder that is named. `--list` also
// names what was counted. They decide nothing: they show which way a change goes.

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { bounds, optionBags } from "./house/declarations.ts";
import type { Figure } from "./house/figure.ts";
import { importers, rooms } from "./house/imports.ts";
import { repeatedShapes } from "./house/shapes.ts";
import { sizes } from "./house/sizes.ts";
import { projectRoot, sourceFilesOf } from "./source-files.ts";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { list: { type: "boolean" } } });
const files = sourceFilesOf(resolve(positionals[0] ?? projectRoot)).filter(
  ({ path, isTest }) => path.startsWith("src/") && !isTest,
);
const measures = [rooms, sizes, importers, optionBags, bounds, repeatedShapes];
for (const figure of measures.flatMap((measure): Figure[] => measure(files))) {
  console.log(`${figure.name.padEnd(58)} ${figure.value}`);
  if (values.list === true) for (const entry of figure.found ?? []) console.log(`    ${entry}`);
}
