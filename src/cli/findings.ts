import type { Finding, FindingState } from "../doctor/finding.ts";
import { printTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

const words: Readonly<Record<FindingState, string>> = {
  passed: "passed",
  failed: "FAILED",
  skipped: "skipped",
  not_applicable: "-",
};

/** The table of what was found, then what to do about it. */
export function printFindings(terminal: Terminal, findings: readonly Finding[]): void {
  printTable(terminal, {
    columns: [
      { title: "RESULT", value: ({ state }: Finding) => words[state] },
      { title: "RULE", value: ({ title }) => title },
      { title: "SEEN", value: ({ detail }) => detail },
      { title: "REQUIREMENTS", value: ({ requirements }) => requirements },
    ],
    rows: findings,
  });
  for (const { state, title, hint } of findings) {
    if (state === "failed" && hint !== null) terminal.note(`${terminal.errStyle("red", title)}: ${hint}`);
  }
  const count = (wanted: FindingState): number => findings.filter(({ state }) => state === wanted).length;
  terminal.note(
    `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped, ${count("not_applicable")} not applicable`,
  );
  const skippedHints = new Set(findings.filter(({ state }) => state === "skipped").map(({ hint }) => hint));
  for (const hint of skippedHints) if (hint !== null) terminal.note(`To try the skipped ones: ${hint}`);
}
