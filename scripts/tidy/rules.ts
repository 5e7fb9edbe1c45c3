// The tidy rules: what style.md asks for and neither compiler nor linter checks. One entry is one line of `npm test`.

import type { Check } from "../check.ts";
import { deadExports } from "./dead-exports.ts";
import { eventPath } from "./event-path.ts";
import { functionLengths } from "./functions.ts";
import { fileLengths, fileNames, leftovers, markdownLinks } from "./layout.ts";
import { defaultExports, documentedContracts, hiddenInputs, ownImports, testMarks } from "./syntax.ts";

export const tidyRules: readonly Check[] = [
  { name: "file-length", title: "file length", run: fileLengths },
  { name: "function-length", title: "function length", run: functionLengths },
  { name: "hidden-inputs", title: "no hidden clock, timer or chance", run: hiddenInputs },
  { name: "names", title: "file names", run: fileNames },
  { name: "leftovers", title: "no leftovers", run: leftovers },
  { name: "imports", title: "imports of own files end in .ts", run: ownImports },
  { name: "default-exports", title: "no default exports", run: defaultExports },
  { name: "dead-exports", title: "no dead exports", run: deadExports },
  { name: "contracts", title: "every export of ports and config is documented", run: documentedContracts },
  { name: "test-marks", title: "no test is switched off", run: testMarks },
  { name: "links", title: "links between pages resolve", run: markdownLinks },
  { name: "event-path", title: "the path of an event, step by step", run: eventPath },
];
